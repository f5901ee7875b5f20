"""Defines a worker, which plays many episodes at once on one event loop, and stages their rows. The driver makes it a
Ray actor.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ray_gym.agents.hiring import Crew
from ray_gym.aio.exits import keep_exits
from ray_gym.config.interpolations import Interpolation, unfilled
from ray_gym.config.sections import FanoutSection, GroupsSection, LimitsSection, LogSection, OutputSection
from ray_gym.environment import Environment
from ray_gym.episode.meter import Meter
from ray_gym.episode.participant import Participant
from ray_gym.episode.purse import Allotment, Purse
from ray_gym.episode.stage import Stage
from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting.admission import Admission
from ray_gym.journal.history import SUFFIX, HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Charged
from ray_gym.journal.stacks import SUFFIX as STACKS_SUFFIX
from ray_gym.journal.stacks import StackFile
from ray_gym.logs import configure, last_words, speak_of
from ray_gym.metrics.pulse import Export
from ray_gym.metrics.working import WorkerMetrics
from ray_gym.models.base import Engine, Model
from ray_gym.models.engine import Paced, Warns
from ray_gym.models.price import Price
from ray_gym.models.rates import RateLimit
from ray_gym.models.versions import Versions
from ray_gym.play.play import Played
from ray_gym.run.cluster.nodes import Hello, this_node
from ray_gym.run.directory.receipt import log_end
from ray_gym.run.directory.storage import Storage
from ray_gym.run.lease import EpisodeKey, Lease, LeaseGroup, ids_of
from ray_gym.run.worker import ends_of_life
from ray_gym.run.worker.garbage import collect_seldom
from ray_gym.run.worker.gathering import Gathering
from ray_gym.run.worker.player import LeasePlayer
from ray_gym.run.worker.report import Report, StagedFile
from ray_gym.run.worker.rows import Rows, take_batch
from ray_gym.run.worker.watchdog import Charge, Watchdog, memory_bytes

logger = logging.getLogger(__name__)

HEARTBEAT_S = 1.0
"""Seconds that an exchange waits for news at most, so that progress is shown and files are staged in time."""
STALL_S = 8.0
"""Seconds beyond `stuck_after_s` after which the stacks of a worker are written that can't watch itself: before the
driver gives it up."""
OVERDUE_S = 15.0
"""Seconds that an episode's code may run after its deadline, while it is being cancelled. Then the worker is killed."""
CANCELLING_S = 2.0
"""Seconds that cancelled episodes may take to end. The driver waits a little longer, for the rows of the finished
ones."""
START_AT_ONCE, START_TURNS = 8, 32
"""Least number of episodes that begin in one turn of the event loop, and the number of turns in which all places are
filled."""
GATHER_S = 0.01
"""Seconds that an exchange waits for more news before it answers."""
GATHER_TIMES = 5
"""Most such waits of one exchange. It goes on waiting only while episodes wait here, so that no place stays free.

An exchange costs as much as many model calls. The waits save 10 to 14% of a call's CPU time
(`benchmarks.orchestration`, 64 in flight)."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """Holds the setup that all workers of a run share."""

    run_id: str
    env_id: str
    """Id of the environment, as in the config."""
    environment: Environment[Any, Any]
    participants: Mapping[str, Participant]
    """Participants by name."""
    engines: Mapping[str, Engine]
    """Engines, which the driver has started, by the names of their models."""
    limits: LimitsSection
    groups: GroupsSection
    fanout: FanoutSection
    output: OutputSection
    storage: Storage
    """Storage of the run's directory, with this epoch's staging folder."""
    journal: Path | None
    """Folder of journals; None if the run keeps none."""
    export: Callable[[], Export] | None = None
    """Function that makes the exporter of metrics; None if they are not exported."""
    log: LogSection | None = None
    """Logging of the worker's process; None leaves it as it is."""
    filled_in: tuple[Interpolation, ...] = ()
    """Values of the config that failures show as its file has them, with ${...}."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices of models by name, of those that have one."""
    crew: Crew | None = None
    """Programs that play participants, and sandboxes; None if nobody needs a sandbox."""


class Worker:
    """Plays leased episodes on one event loop, and reports to its driver. The driver calls its methods through Ray,
    several at a time.
    """

    def __init__(self, name: str, setup: WorkerSetup, concurrency: int) -> None:
        if setup.log is not None:
            configure(setup.log, setup.filled_in, run=setup.run_id, worker=name)
        models = {model: engine.connect() for model, engine in setup.engines.items()}
        self._name = name
        self._setup = setup
        self._concurrency = concurrency
        self._admission = Admission(models.values(), concurrency / setup.fanout.concurrency)
        self._journal = _open_journal(name, setup)
        self._metrics = WorkerMetrics(setup.env_id, self._journal, setup.export)
        limited = setup.limits.max_cost is not None
        self._purse = Purse(setup.prices, lambda: self._news.set()) if limited else None
        agents = setup.crew.workplaces() if setup.crew is not None else None
        stage = Stage(
            setup.environment,
            setup.participants,
            models,
            setup.limits,
            metrics=self._metrics.play,
            prices=setup.prices,
            meter=Meter(
                self._purse, _rates_of(models, concurrency / max(setup.fanout.concurrency, setup.fanout.workers))
            ),
            agents=agents,
            sandboxes=setup.crew.sandboxes(agents) if setup.crew is not None else None,
            filled_in=setup.filled_in,
        )
        histories = HistoryReader(setup.journal) if setup.journal else None
        self._player = self._make_player(stage, setup.groups, self._journal, histories)
        self._waiting: deque[tuple[Lease, Gathering]] = deque()
        self._playing: set[asyncio.Task[None]] = set()
        self._report = Report()
        self._news = asyncio.Event()
        self._ended: deque[Played] = deque()
        """Results of groups that are over. They become rows at the next exchange at the latest."""
        self._rows = self._no_rows()
        self._rolled_at = time.monotonic()
        self._files = 0
        self._rolling = asyncio.Lock()
        self._begun_roll: asyncio.Task[None] | None = None
        """Task that stages the latest file; None before the first."""
        self._is_starting = False
        self._is_leaving = False
        self._is_cancelled = False
        self._alone: EpisodeKey | None = None
        """Attempt that is played with no other beside it; None if there is none."""

    def _make_player(
        self, stage: Stage, groups: GroupsSection, journal: Journal | None, histories: HistoryReader | None
    ) -> LeasePlayer:
        return LeasePlayer(stage, groups, journal, histories)

    async def hello(self) -> Hello:
        """Starts the watchdog and the metrics of this process, and writes a probe file into the run's staging folder,
        by which the driver checks that this node can write there. Returns the file's name and the id of this node.
        The environment's `prepare_worker` may block the event loop, on which nothing is played yet, for `PREPARE_S` seconds.

        Errors: OSError if the file can't be written; UserError if this process takes more memory than
        `fanout.memory_gb` already, or can't have what its sandboxes or its environment need.
        """
        keep_exits()
        usual_s = self._setup.fanout.stuck_after_s
        self._watch(max(usual_s, ends_of_life.PREPARE_S))
        collect_seldom(self._concurrency)
        # Arrow's own pool takes 50 MB more, and 0.1 s for the first file's pages.
        pa.set_memory_pool(pa.system_memory_pool())
        await asyncio.to_thread(
            pa.array, []
        )  # imports pandas if it is installed: 0.3 s, which the event loop would lack
        self._metrics.start()
        if self._setup.crew is not None and self._player.stage.sandboxes is not None:
            await self._setup.crew.check()
            self._player.stage.sandboxes.fill()
        await ends_of_life.prepare(self._setup.environment)
        self._watchdog.stop()
        self._watch(usual_s)
        name = f"hello-{self._name}"
        storage = self._setup.storage
        await asyncio.to_thread(storage.write, f"{storage.staging}/{name}", b"")
        return Hello(name, this_node())

    async def exchange(
        self,
        groups: Sequence[LeaseGroup],
        committed: Sequence[str],
        versions: Versions | None = None,
        allotment: Allotment | None = None,
    ) -> Report:
        """Takes new leases, waits for news for `HEARTBEAT_S` seconds at most, and returns a report. It may take longer
        while rows are made or staged. `committed`: ids of episodes whose records are not needed any more. `versions`:
        versions of the weights that the run was told of last. `allotment`: what its model calls may cost; None if that has
        no limit.

        It kills this process if an episode's code runs long after its deadline, or if the exchange before found that
        blocking tools have used up the threads. Errors: OSError if the journal, or a file of rows, can't be written.
        """
        if self._is_leaving:
            self._end("too many of its threads are stuck in blocking tools; another worker takes over")
        self._end_if_overdue()
        if versions is not None:
            self._player.stage.told.versions = versions
        if self._purse is not None and allotment is not None:
            self._purse.allot(allotment)
        for group in groups:
            gathering = Gathering(len(group), min(self._setup.groups.extra, len(group) - 1))
            self._waiting.extend((lease, gathering) for lease in group)
        self._start_waiting()
        if self._journal is not None:
            self._journal.forget(committed)
            await self._journal.compact_if_due()
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await self._news.wait()
            await self._gather()
        except TimeoutError:
            pass
        await self._record()
        self._is_leaving = self._player.stage.tool_runner.blocking.is_exhausted
        if self._is_leaving:
            await self._roll()
        elif self._roll_is_due():
            await self._begin_roll()
        elif self._begun_roll is not None and time.monotonic() - self._rolled_at > self._setup.fanout.stuck_after_s:
            # A write that hangs: then this does, too, and the driver gives the worker up.
            await asyncio.wait({self._begun_roll})
        return await self._take_report()

    async def _gather(self) -> None:
        for _ in range(GATHER_TIMES):
            await asyncio.sleep(GATHER_S)
            if not self._waiting:
                return

    async def wake(self) -> None:
        """Makes the exchange that is waiting for news (or else the next one) answer without waiting longer for any
        news.
        """
        self._news.set()

    async def finish(self) -> Report:
        """Stages the rows of all groups that are over, gives back what is left of the allotment, and returns the report
        of what happened since the last one. Errors: OSError.
        """
        await self._roll()
        return await self._take_report(gives_back=True)

    async def cancel(self) -> Report:
        """Cancels all episodes, stages the rows of all groups that are over, closes the worker, and returns its last
        report. Cancelled episodes can be resumed from the journal. Errors: OSError; exceptions of closing the
        environment and the models.
        """
        self._is_cancelled = True
        self._waiting.clear()
        for task in self._playing:
            task.cancel()
        if self._playing:
            await asyncio.wait(self._playing, timeout=CANCELLING_S)
        report = await self.finish()
        try:
            await self.close()
        except RunFailed as error:
            logger.warning(str(error))  # the report is worth more
        return report

    async def close(self) -> None:
        """Stops the watchdog and the metrics, and closes tools, environment and models, when no episode is left. The
        journal may be deleted afterwards, since the watchdog no longer takes that for a fence. Errors: RunFailed if the
        environment's `close` raises or takes too long; exceptions of closing the models.
        """
        self._watchdog.stop()
        await self._metrics.stop()
        if self._player.stage.agents is not None:
            await self._player.stage.agents.close()
        if self._player.stage.sandboxes is not None:
            await self._player.stage.sandboxes.close()
        await self._player.stage.tool_runner.close()
        try:
            await ends_of_life.close(self._setup.environment)
        except RunFailed as error:
            raise RunFailed(f"{error}; the episodes and their rows are kept") from None
        finally:
            for model in self._player.stage.models.values():
                await model.close()

    def _watch(self, stuck_after_s: float) -> None:
        """Starts the watchdog, which ends this process if its event loop is stuck for `stuck_after_s` seconds, it takes too
        much memory, or its journal is fenced. Errors: UserError if the process takes more memory than `fanout.memory_gb`
        already.
        """
        fanout, journal = self._setup.fanout, self._journal
        limit = int(fanout.memory_gb * 2**30) if fanout.memory_gb else None
        if limit is not None and memory_bytes() > limit:
            raise UserError(
                f"fanout.memory_gb: {fanout.memory_gb:g}, but a worker takes {memory_bytes() / 2**30:.2f} before it plays anything"
            )
        is_fenced = journal.is_fenced if journal else lambda: False
        loop = asyncio.get_running_loop()
        folder, after_s = self._setup.journal, fanout.stuck_after_s + STALL_S
        stacks = StackFile(folder / f"{self._name}{STACKS_SUFFIX}", after_s) if folder is not None else None
        self._watchdog = Watchdog(loop, stuck_after_s, limit, self._charge, is_fenced, stacks)
        self._watchdog.start()

    def _charge(self, charge: Charge) -> None:
        """Writes into the journal which episode is to blame, and kills this process. If the charge names no episode,
        the one that is played alone is to blame, if any; after a fence nobody is. Runs on a thread of the watchdog, or
        on the event loop. Errors: OSError if the journal can't be written.
        """
        blamed = self._alone if charge.reason != "fenced" else None
        if charge.episode_id is not None and charge.attempt is not None:
            blamed = EpisodeKey(charge.episode_id, charge.attempt)
        if self._journal is not None and blamed is not None:
            self._journal.append(Charged(blamed.episode_id, blamed.attempt, charge.message))
        self._end(charge.message, blamed)

    def _end_if_overdue(self) -> None:
        """Charges an episode, and kills this process, if the episode's code runs more than `OVERDUE_S` seconds after
        its deadline: code that ignores its cancellation can't be stopped otherwise.
        """
        for episode in self._player.stage.under_way:
            if episode.clock.overdue_s > OVERDUE_S:
                spec = episode.spec
                self._charge(
                    Charge("stuck", spec.episode_id, spec.attempt, "its code swallows its cancellation at a deadline")
                )

    def _end(self, reason: str, blamed: EpisodeKey | None = None) -> None:
        """Logs the reason, and kills this process. Its episodes are resumed elsewhere from the journal, as after any
        death of a worker.
        """
        last_words(__name__, f"worker {self._name} ends itself: {reason}", **(ids_of(blamed) if blamed else {}))
        os.kill(os.getpid(), signal.SIGKILL)

    def _start_waiting(self) -> None:
        if not self._is_starting:
            self._is_starting = True
            asyncio.get_running_loop().call_soon(self._start_some)

    def _start_some(self) -> None:
        """Starts some of the waiting episodes, and leaves the others to later turns of the event loop. Episodes that
        begin together may also end together, and all of them at once would block the event loop.
        """
        self._is_starting = False
        for _ in range(max(START_AT_ONCE, self._concurrency // START_TURNS)):
            if not self._waiting or len(self._playing) >= self._room():
                return
            lease, gathering = self._waiting.popleft()
            task = asyncio.create_task(self._play(lease, gathering))
            self._playing.add(task)
            task.add_done_callback(self._playing.discard)
            task.add_done_callback(lambda _: self._start_waiting())
        self._start_waiting()

    def _room(self) -> int:
        return 1 if self._waiting[0][0].alone else self._concurrency

    async def _play(self, lease: Lease, gathering: Gathering) -> None:
        """Plays a lease, and closes its group if it was the group's last. The episode ends as one row and one receipt,
        unless the worker is cancelled.
        """
        self._alone = lease.key if lease.alone else None
        speak_of(**ids_of(lease.key))
        if gathering.is_complete:  # since this task was made
            await self._gather_one(lease, self._player.give_up(lease, None), gathering)
            return
        if (task := asyncio.current_task()) is not None:
            gathering.playing[lease.key] = task
        try:
            async with self._admission.place(begins=not lease.adopted):
                played = await self._play_lease(lease, gathering)
        except asyncio.CancelledError:
            if self._is_cancelled or lease.key not in gathering.cut:
                raise
            _take_back_cancellation()
            played = self._player.give_up(lease, gathering.cut[lease.key])  # it waited for a place, or gave it back
        del gathering.playing[lease.key]
        await self._gather_one(lease, played, gathering)

    async def _gather_one(self, lease: Lease, played: Played, gathering: Gathering) -> None:
        """Adds a result to its group, cuts the group's surplus off if it is complete now, and closes the group if that
        was the last result.
        """
        self._report.over.append(lease.key)
        gathering.add(played)
        if gathering.is_complete and len(gathering.played) < gathering.size and not gathering.cut:
            self._cut_surplus(gathering)
        if len(gathering.played) == gathering.size:
            self._ended.extend(await self._player.close_group(gathering.played))
        self._news.set()

    def _cut_surplus(self, gathering: Gathering) -> None:
        """Cancels the episodes of a complete group that are being played, and takes those that wait out of the queue."""
        by_try = sorted(self._player.stage.under_way, key=lambda episode: int(episode.spec.try_))
        under_way = {episode.spec.episode_id: episode for episode in by_try}
        for key, task in gathering.playing.items():
            gathering.cut[key] = under_way.get(key.episode_id)
            task.cancel()
        waiting = [lease for lease, of in self._waiting if of is gathering]
        self._waiting = deque((lease, of) for lease, of in self._waiting if of is not gathering)
        for lease in waiting:
            self._report.over.append(lease.key)
            gathering.played.append(self._player.give_up(lease, None))

    async def _play_lease(self, lease: Lease, gathering: Gathering) -> Played:
        try:
            return await self._player.play(lease)
        except asyncio.CancelledError:
            if self._is_cancelled:
                raise
            _take_back_cancellation()
            if lease.key in gathering.cut:
                return self._player.give_up(lease, gathering.cut[lease.key])
            return self._player.fail_lease(
                lease, "CancelledError: its environment cancelled the task that it is played in"
            )

    def _record_some(self) -> None:
        """Makes rows of the first batch of ended episodes, and adds their receipts to the report."""
        for receipt in self._rows.add(take_batch(self._ended)):
            self._report.finished.append(receipt)
            log_end(receipt)

    async def _record(self) -> None:
        """Makes rows of all ended episodes, in steps between which the event loop is free.

        When it returns, there are rows of whole groups only, although a step may end within a group: nothing else runs
        between the last step and the caller's next statement.
        """
        while self._ended:
            self._record_some()
            if self._ended:
                await asyncio.sleep(0)

    def _no_rows(self) -> Rows:
        return Rows(self._setup.run_id, self._setup.env_id)

    async def _take_report(self, gives_back: bool = False) -> Report:
        if self._journal is not None:
            if self._journal.broken is not None:
                raise self._journal.broken
            await self._journal.sync()
        if self._begun_roll is not None and self._begun_roll.done():
            self._begun_roll.result()
        await self._record()  # rows of all groups that are over by now
        report, self._report = self._report, Report()
        told = [
            text
            for model in self._player.stage.models.values()
            if isinstance(model, Warns)
            for text in model.take_warnings()
        ]
        report.warnings += [unfilled(text, self._setup.filled_in) for text in told]
        report.funds = self._purse.report(gives_back) if self._purse is not None else None
        self._news.clear()
        return report

    def _roll_is_due(self) -> bool:
        output = self._setup.output
        full = len(self._rows) >= output.roll_rows or self._rows.bytes >= output.roll_mb * 2**20
        return len(self._rows) > 0 and (full or time.monotonic() - self._rolled_at >= output.roll_s)

    async def _begin_roll(self) -> None:
        """Starts a task that stages the rows, after the file before is staged. The worker gets new leases only when an
        exchange answers, so the exchange must not wait for this task. Errors: OSError if the file before could not be
        staged.
        """
        if self._begun_roll is not None:
            await asyncio.wait({self._begun_roll})
            self._begun_roll.result()
        self._begun_roll = asyncio.create_task(self._roll())
        self._begun_roll.add_done_callback(lambda _: self._news.set())

    async def _roll(self) -> None:
        """Stages the rows collected so far, which are those of whole groups, in a thread; does nothing if there are
        none. Errors: OSError.
        """
        async with self._rolling:
            await self._record()
            rows, self._rows, self._rolled_at = self._rows, self._no_rows(), time.monotonic()
            if not len(rows):
                return
            name = f"part-{self._name}-{self._files:05d}.parquet"
            self._files += 1
            await asyncio.to_thread(lambda: self._setup.storage.stage(name, rows.table()))
            self._report.staged.append(StagedFile(name, tuple(rows.keys)))


def _take_back_cancellation() -> None:
    """Makes the running task one that is not being cancelled any more, so that it can go on."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass


def _rates_of(models: Mapping[str, Model], share: float) -> dict[str, RateLimit]:
    """Returns the limits a minute of the models that have any, by the name of the model, each set to a worker's share (0
    to 1).
    """
    rates = {name: model.rate for name, model in models.items() if isinstance(model, Paced)}
    limits = {name: rate for name, rate in rates.items() if isinstance(rate, RateLimit)}
    for rate in limits.values():
        rate.set_share(share)
    return limits


def _open_journal(name: str, setup: WorkerSetup) -> Journal | None:
    """Opens the worker's journal; returns None if the run keeps none. Errors: OSError."""
    if setup.journal is None:
        return None
    path = setup.journal / f"{name}{SUFFIX}"
    return Journal(path, setup.run_id, flush=setup.output.durability == "disk")
