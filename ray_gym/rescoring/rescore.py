"""Scores a recorded run again, file by file, and writes the result as a new run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ray_gym.aio.exits import keep_exits
from ray_gym.episode.stage import Stage
from ray_gym.errors import UserError
from ray_gym.models.base import Model
from ray_gym.record.schema import SCHEMA
from ray_gym.rescoring.changes import Change
from ray_gym.rescoring.group import GroupScorer, ModelsNeeded, Rescored
from ray_gym.rescoring.live import LiveModels
from ray_gym.rescoring.recorded import RecordedEpisode
from ray_gym.rescoring.replay import NotReplayable
from ray_gym.rescoring.rows import read_episodes, rewritten
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.empty import no_episodes
from ray_gym.run.directory.reading import Run
from ray_gym.run.directory.receipt import COLUMNS, receipt_of
from ray_gym.run.driver.failures import FailureCounts
from ray_gym.run.driver.tally import MAX_FAILURES, Tally
from ray_gym.run.worker import ends_of_life

AT_ONCE = 256
"""Episodes that are read, scored and written together."""
BATCH = 64
"""Rows that are read together."""

OpenModels = Callable[[], AbstractContextManager[Mapping[str, Model]]]
"""Function that brings the models of judges up, and yields connections to them by name."""


@dataclass(slots=True)
class Counts:
    """Counts what was done to the episodes of a run."""

    scored: int = 0
    """Episodes that were scored again."""
    copied: int = 0
    """Episodes whose rows were copied."""
    changed: int = 0
    """Episodes whose reward or status differs from the record."""
    asked_live: int = 0
    """Questions to judges that live models answered."""
    asked_record: int = 0
    """Questions to judges that the record answered."""
    rewarded: int = 0
    """Completed episodes that have a reward in the record."""
    reward_sum: float = 0.0
    """Sum of these rewards."""
    copied_because: Counter[str] = field(default_factory=Counter)
    """Copied episodes by status and kind of failure."""

    @property
    def mean_before(self) -> float | None:
        """Returns the mean reward of the record; None if it has no reward."""
        return self.reward_sum / self.rewarded if self.rewarded else None

    def add(self, one: Rescored) -> None:
        """Adds the new result of an episode."""
        row, played = one.recorded.row, one.played
        if row["status"] == "completed" and row["reward"] is not None:
            self.rewarded += 1
            self.reward_sum += row["reward"]
        if not one.is_scored:
            self.copied += 1
            failure = one.recorded.failure
            self.copied_because[one.recorded.status + (f" ({failure.kind})" if failure else "")] += 1
            self.changed += row["status"] != played.status
            return
        self.scored += 1
        reward = played.score.reward if played.score else None
        self.changed += (row["reward"], row["status"]) != (reward, played.status)
        self.asked_live += one.episode.log.asked_live
        self.asked_record += one.episode.log.asked_record

    def summary(self) -> dict[str, int]:
        """Returns the counts for summary.json."""
        return {
            "episodes_scored": self.scored,
            "episodes_copied": self.copied,
            "episodes_changed": self.changed,
            "judge_calls": self.asked_live,
            "judge_calls_from_record": self.asked_record,
        }


@dataclass
class Rescoring:
    """Scores the episodes of a run again. `carry_out` does it all."""

    source: RunDirectory
    """Run that is read."""
    target: RunDirectory
    """Open directory of the new run."""
    change: Change
    open_models: OpenModels
    only_failed: bool = False
    """True if only episodes that failed by a judge are scored again."""
    planned: int | None = None
    """Number of episodes that the recorded run planned; None if it did not say."""
    counts: Counts = field(default_factory=Counts)
    undecided: FailureCounts = field(default_factory=lambda: FailureCounts(MAX_FAILURES))
    """Verdicts that functions of graders did not give."""
    live: LiveModels = field(default_factory=LiveModels)

    def carry_out(self) -> dict[str, Any]:
        """Scores all episodes again, commits their rows, and returns the content of summary.json, which is not written
        yet. Nothing is committed before all is scored. Blocks.

        Errors: UserError for a run without episodes, an episode that can't be played again, or a damaged file; RunFailed
        if a judge's model does not come up, or the environment's `close` raises; OSError.
        """
        rows = self.source.storage.count()
        if not rows:
            raise no_episodes(Run(self.source.storage))
        tally = Tally(max(rows, self.planned or 0), reward_range=self.change.environment.reward_range)
        tally.start()
        with ExitStack() as opened, asyncio.Runner() as runner:
            stage = self._stage()
            scorer = GroupScorer(
                stage,
                self.change.config.groups,
                self.live,
                self.change.asked_anew,
                self.only_failed,
                asyncio.Semaphore(self.change.config.fanout.concurrency),
            )
            try:
                staged = [self._stage_file(*part, tally) for part in self._files(scorer, runner, opened)]
            finally:
                runner.run(self._close(stage))
        for name in staged:
            self.target.commit(name)
        return self._summary(tally)

    def _stage(self) -> Stage:
        change = self.change
        models = self.live.stand_in({one.model for one in change.participants.values()})
        return Stage(
            change.environment, change.participants, models, change.config.limits, filled_in=change.config.filled_in
        )

    def _files(
        self, scorer: GroupScorer, runner: asyncio.Runner, opened: ExitStack
    ) -> Iterator[tuple[int, list[pa.Table]]]:
        """Yields the new rows of each recorded file, with the file's number. A group that lies in several files counts
        as one of the last.
        """
        waiting = _GroupsOfRows(self._group_sizes())
        for number, name in enumerate(self.source.storage.committed()):
            tables: list[pa.Table] = []
            with self.source.storage.open_committed(name) as file:
                for batch in file.batches(SCHEMA.names, BATCH):
                    waiting.add(pa.Table.from_batches([batch]))
                    if waiting.whole >= AT_ONCE:
                        tables.append(self._score(waiting.take(), scorer, runner, opened))
            if waiting.whole:
                tables.append(self._score(waiting.take(), scorer, runner, opened))
            if tables:
                yield number, tables

    def _score(
        self, groups: list[pa.Table], scorer: GroupScorer, runner: asyncio.Runner, opened: ExitStack
    ) -> pa.Table:
        """Scores whole groups again, and returns their new rows. If a question has to be asked live, the models are
        brought up first.
        """
        table = pa.concat_tables(groups)
        read = read_episodes(table)
        by_group, start = list[list[RecordedEpisode]](), 0
        for group in groups:
            by_group.append(read[start : start + group.num_rows])
            start += group.num_rows
        try:
            done = runner.run(_score_all(scorer, by_group))
            missing = [n for n, results in enumerate(done) if results is None]
            if missing:
                self.live.up.update(opened.enter_context(self.open_models()))
                again = runner.run(_score_all(scorer, [by_group[n] for n in missing]))
                done = [results if results is not None else again.pop(0) for results in done]
        except NotReplayable as error:
            raise UserError(f"{error}; nothing was written") from None
        results = [one for of_group in done for one in of_group or ()]
        for one in results:
            self.counts.add(one)
            for told in one.played.episode.undecided:
                self.undecided.add(told)
        config = self.change.config
        return rewritten(table, results, self.target.name, config.environment.id, config.filled_in)

    def _stage_file(self, number: int, tables: list[pa.Table], tally: Tally) -> str:
        table = pa.concat_tables(tables)
        for row in table.select(COLUMNS).to_pylist():
            tally.add(receipt_of(row))
        return self.target.storage.stage(f"part-score-{number:05d}.parquet", table)

    def _group_sizes(self) -> Counter[str]:
        """Counts the rows of each group in all files."""
        sizes: Counter[str] = Counter()
        for batch in self.source.storage.batches(["group_id"], 10_000):
            sizes.update(batch.column("group_id").to_pylist())
        return sizes

    def _summary(self, tally: Tally) -> dict[str, Any]:
        before = Run(self.source.storage).summary or {}
        return {
            "run": self.target.name,
            "environment": self.change.config.environment.id,
            "interrupted": tally.done < tally.total,
            "failure": None,
            **tally.summary(),
            "undecided": dict(self.undecided.told().most_common()),
            "notes": before.get("notes", []),
            "models_without_token_ids": before.get("models_without_token_ids", []),
            "scored_from": {"run": self.source.location, **self.counts.summary()},
        }

    async def _close(self, stage: Stage) -> None:
        """Closes tools, environment and models. Errors: RunFailed if the environment's `close` raises, or takes too
        long."""
        await stage.tool_runner.close()
        for model in self.live.up.values():
            await model.close()
        await ends_of_life.close(self.change.environment)


async def _score_all(scorer: GroupScorer, groups: Sequence[Sequence[RecordedEpisode]]) -> list[list[Rescored] | None]:
    """Scores groups at the same time, and returns their results; None for a group that needs live models. Errors:
    NotReplayable.
    """
    keep_exits()
    given = await asyncio.gather(*(scorer.score(group) for group in groups), return_exceptions=True)
    for result in given:
        if isinstance(result, BaseException) and not isinstance(result, ModelsNeeded):
            raise result
    return [None if isinstance(result, BaseException) else result for result in given]


class _GroupsOfRows:
    """Collects rows until their groups are whole."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """Takes the number of rows of each group."""
        self._sizes = sizes
        self._parts: dict[str, list[pa.Table]] = {}
        self._whole: list[str] = []
        self.whole = 0
        """Number of rows of whole groups."""

    def add(self, table: pa.Table) -> None:
        """Adds rows."""
        places: dict[str, list[int]] = {}
        for place, group in enumerate(table.column("group_id").to_pylist()):
            places.setdefault(group, []).append(place)
        for group, own in places.items():
            parts = self._parts.setdefault(group, [])
            parts.append(table.take(own))
            if sum(part.num_rows for part in parts) == self._sizes[group]:
                self._whole.append(group)
                self.whole += self._sizes[group]

    def take(self) -> list[pa.Table]:
        """Removes the whole groups, and returns a table for each."""
        groups, self._whole, self.whole = self._whole, [], 0
        return [pa.concat_tables(self._parts.pop(group)) for group in groups]
