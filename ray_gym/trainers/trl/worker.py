"""Implements TRL's rollout worker over a stream: the trainer takes rows from the stream as from a queue.

There is no queue in between in which rows would grow old unseen. A group is taken from the stream when the trainer asks
for a row and none is left of the group before; the stream's own bounds say what is played ahead. TRL's staleness is
applied here, row by row, so that nothing that TRL drops stays unacknowledged.
"""

from __future__ import annotations

import queue
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ray_gym.advantages import Baseline, Forks
from ray_gym.errors import RunFailed, UserError
from ray_gym.stream import BlockingStream, Group
from ray_gym.trainers.compatibility import check_vocabulary
from ray_gym.trainers.counts import add_and_say
from ray_gym.trainers.rows import Row, rows_of, why_nothing_trains, without_longer


class RolloutWorker:
    """Has the members of TRL's `RolloutWorkerProtocol`, and of the queue that is its `rollout_buffer`."""

    def __init__(
        self,
        stream: BlockingStream,
        base: int,
        baseline: Baseline,
        forks: Forks,
        max_barren_groups: int,
        *,
        tells: bool,
    ) -> None:
        """Takes the stream, and the version that its model serves before TRL's first push.

        `tells`: True tells the stream of new weights, where `ray_gym.Weights` does not move them. `AsyncRollouts`
        describes the rest.
        """
        self._stream = stream
        self._base = base
        self._baseline = baseline
        self._forks: Forks = forks
        self._max_barren = max_barren_groups
        self._tells = tells
        self._version = 0
        self._max_staleness: int | None = None
        self._longest: int | None = None
        self._vocabulary: int | None = None
        self._reader = ThreadPoolExecutor(1, "ray_gym groups")
        self._coming: Future[Group | None] | None = None
        self._rows: deque[Row] = deque()
        self._open: dict[int, tuple[Group, int]] = {}
        """Groups by number that were taken, each with the number of its rows that were not trained on yet."""
        self._barren: list[Group] = []
        """Last groups in a row that had no row."""
        self.rollout_buffer = self
        self.metrics_queue: queue.Queue[dict[str, float]] = queue.Queue()
        self.counts = Counter[str]()
        """Counts of what was taken and left out since the start: `groups`, `episodes`, `rows`, `forked` ones among
        them, `failed` and `surplus` episodes (`groups.extra`), `barren` groups, `too_long` and `stale` rows."""

    def limit(self, max_staleness: int, longest: int | None, vocabulary: int) -> None:
        """Sets what the trainer takes: rows at most `max_staleness` pushes old, of at most `longest` tokens (None: no
        limit), with token ids below `vocabulary`.
        """
        self._max_staleness = max_staleness
        self._longest = longest
        self._vocabulary = vocabulary

    @property
    def served(self) -> int:
        """Returns the version of the weights that the stream's model serves."""
        return self._base + self._version

    # ---- RolloutWorkerProtocol ----

    def start(self) -> None:
        """Does nothing: the stream plays already."""

    def stop(self) -> None:
        """Stops taking groups. One that is on its way is not lost, since it is not acknowledged."""
        self._reader.shutdown(wait=False, cancel_futures=True)

    def update_model_version(self, model_version: int) -> None:
        """Notes TRL's version of the weights that the model serves now: the number of pushes."""
        self._version = model_version
        if self._tells:
            self._stream.advance(self._base + model_version)

    def check_health(self, stale_after_s: float) -> None:
        """Does nothing: an error of the stream is raised by `get`."""

    # ---- the queue ----

    def qsize(self) -> int:
        """Returns the number of rows that are left of the last group."""
        return len(self._rows)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Returns the next row as TRL's `RolloutSample`.

        Errors: queue.Empty if none has come after `timeout` seconds; UserError and RunFailed, as the stream raises
        them, and after too many groups without a row.
        """
        ends = time.monotonic() + (timeout or 0)
        while True:
            while not self._rows:
                left = None if block and timeout is None else max(0.0, ends - time.monotonic())
                self._take(self._next_group(left))
            row = self._rows.popleft()
            if self._max_staleness is None or self._version - self._pushes_at(row) <= self._max_staleness:
                return self._sample(row)
            self._count(Counter(stale=1))
            self.note_trained([row.group])

    def note_trained(self, groups: Sequence[int]) -> None:
        """Notes that rows were trained on or left out, and acknowledges groups of which no row is left. `groups`: number
        of the group of each row.
        """
        for number, count in Counter(groups).items():
            group, left = self._open[number]
            if left > count:
                self._open[number] = (group, left - count)
            else:
                del self._open[number]
                self._stream.acknowledge(group)

    def _next_group(self, within_s: float | None) -> Group:
        """Waits for the next group of the stream. Errors: queue.Empty; UserError, RunFailed."""
        if self._coming is None:
            self._coming = self._reader.submit(next, self._stream, None)
        try:
            group = self._coming.result(within_s)
        except TimeoutError:
            if self._coming.done():
                raise  # it is the stream's own
            raise queue.Empty from None
        self._coming = None
        if group is None:
            raise UserError(
                f"the stream ended after {self.counts['groups']} groups; give it more epochs, or fewer max_steps"
            )
        return group

    def _take(self, group: Group) -> None:
        """Makes rows of a group, or acknowledges it if it has none. Errors: RunFailed after too many without."""
        every = rows_of(group, self._baseline, self._forks)
        rows, too_long = without_longer(every, self._longest)
        if self._vocabulary is not None:
            check_vocabulary(rows, self._vocabulary)
        statuses = group.episodes.column("status").to_pylist()
        self._count(
            Counter(
                groups=1,
                episodes=len(statuses),
                failed=statuses.count("failed"),
                surplus=statuses.count("cancelled"),
                rows=len(rows),
                forks=sum(row.fork > 0 for row in rows),
                too_long=too_long,
                barren=not rows,
            )
        )
        if rows:
            self._open[group.number] = (group, len(rows))
            self._rows.extend(rows)
            self._barren.clear()
            return
        self._stream.acknowledge(group)
        self._barren.append(group)
        if len(self._barren) >= self._max_barren:
            raise RunFailed(
                f"{len(self._barren)} groups in a row had nothing to train on: {why_nothing_trains(self._barren)}; "
                f"{too_long} samples of the last one were longer than the trainer's {self._longest} tokens"
            )

    def _pushes_at(self, row: Row) -> int:
        """Returns TRL's version of a row: the number of pushes before its oldest token. It is below 0 for a row that was
        played before a restart.
        """
        return row.version - self._base

    def _sample(self, row: Row) -> Any:
        from trl.experimental.async_grpo.async_rollout_worker import RolloutSample

        return RolloutSample(
            prompt=[],
            completion=[],
            input_ids=row.token_ids,
            completion_mask=row.loss_mask,
            old_log_probs=row.logprobs,
            advantage=row.advantage,
            model_version=self._pushes_at(row),
            group_id=row.group,
            metrics={} if row.reward is None else {"reward": row.reward},
            enqueued_at=time.time(),
        )

    def _count(self, counts: Counter[str]) -> None:
        add_and_say(self.counts, counts)
        self.metrics_queue.put({f"ray_gym/{name}_total": float(count) for name, count in counts.items()})
