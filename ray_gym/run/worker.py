"""A worker: plays many episodes at once on one event loop and stages their rows. A plain class; the driver makes it an actor."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_gym.config import LimitsSection, OutputSection
from ray_gym.environment import Environment
from ray_gym.episode import EpisodeSpec
from ray_gym.errors import describe
from ray_gym.models.base import Engine
from ray_gym.participant import Participant
from ray_gym.play import Stage, play
from ray_gym.run.directory import stage as stage_file
from ray_gym.run.dispatcher import EpisodeKey
from ray_gym.run.receipt import Receipt, receipt_of
from ray_gym.trajectory import as_row, as_table, checked, failed_row

HEARTBEAT_S = 1.0
"""An exchange answers at least this often, so that progress moves and files roll by time."""
GATHER_S = 0.01
"""After something was finished, how long an exchange waits for more before it answers."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What is the same for all workers of a run."""

    run_id: str
    env_id: str
    environment: Environment[Any, Any]
    participants: Mapping[str, Participant]
    engines: Mapping[str, Engine]
    limits: LimitsSection
    output: OutputSection
    staging: Path


@dataclass(frozen=True, slots=True)
class StagedFile:
    name: str
    episodes: tuple[EpisodeKey, ...]


@dataclass(slots=True)
class Report:
    finished: list[Receipt] = field(default_factory=list)
    staged: list[StagedFile] = field(default_factory=list)


class Worker:
    def __init__(self, name: str, setup: WorkerSetup, concurrency: int) -> None:
        models = {model: engine.connect() for model, engine in setup.engines.items()}
        self._name = name
        self._setup = setup
        self._stage = Stage(setup.environment, setup.participants, models, setup.limits)
        self._concurrency = concurrency
        self._waiting: deque[EpisodeSpec] = deque()
        self._playing: set[asyncio.Task[None]] = set()
        self._report = Report()
        self._news = asyncio.Event()
        self._rows: list[dict[str, Any]] = []
        self._row_keys: list[EpisodeKey] = []
        self._bytes = 0
        self._rolled_at = time.monotonic()
        self._files = 0
        self._rolling = asyncio.Lock()

    def hello(self) -> str:
        """Shows that this node can write where the run's files go; the driver looks for the file. Errors: OSError."""
        name = f"hello-{self._name}"
        (self._setup.staging / name).touch()
        return name

    async def exchange(self, leases: list[EpisodeSpec]) -> Report:
        """Take episodes, and wait until there is something to report (or a heartbeat has passed)."""
        self._waiting.extend(leases)
        self._start_waiting()
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await self._news.wait()
            await asyncio.sleep(GATHER_S)
        except TimeoutError:
            pass
        if self._roll_is_due():
            await self._roll()
        return self._take_report()

    async def finish(self) -> Report:
        """Nothing more is coming: stage what is left."""
        await self._stage.tool_runner.close()
        await self._roll()
        return self._take_report()

    async def cancel(self) -> Report:
        """Stop playing at once; what was finished is staged, what was not is not."""
        self._waiting.clear()
        for task in self._playing:
            task.cancel()
        if self._playing:
            await asyncio.wait(self._playing, timeout=5)
        for model in self._stage.models.values():
            await model.close()
        return await self.finish()

    def _start_waiting(self) -> None:
        while self._waiting and len(self._playing) < self._concurrency:
            task = asyncio.create_task(self._play(self._waiting.popleft()))
            self._playing.add(task)
            task.add_done_callback(self._playing.discard)
            task.add_done_callback(lambda _: self._start_waiting())

    async def _play(self, spec: EpisodeSpec) -> None:
        """Whatever happens, the episode ends as one row and one receipt, unless the worker itself was told to stop."""
        try:
            row = checked(as_row(await play(spec, self._stage), self._setup.run_id, self._setup.env_id))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            row = failed_row(spec, self._setup.run_id, self._setup.env_id, describe(error))
        receipt = receipt_of(row)
        self._rows.append(row)
        self._row_keys.append(receipt.episode)
        self._bytes += _weight(row)
        self._report.finished.append(receipt)
        self._news.set()

    def _take_report(self) -> Report:
        report, self._report = self._report, Report()
        self._news.clear()
        return report

    def _roll_is_due(self) -> bool:
        output = self._setup.output
        full = len(self._rows) >= output.roll_rows or self._bytes >= output.roll_mb * 2**20
        return bool(self._rows) and (full or time.monotonic() - self._rolled_at >= output.roll_s)

    async def _roll(self) -> None:
        """Stage the rows that have come together, off the event loop."""
        async with self._rolling:
            rows, keys = self._rows, tuple(self._row_keys)
            self._rows, self._row_keys, self._bytes, self._rolled_at = [], [], 0, time.monotonic()
            if not rows:
                return
            name = f"part-{self._name}-{self._files:05d}.parquet"
            self._files += 1
            await asyncio.to_thread(lambda: stage_file(self._setup.staging, name, as_table(rows)))
            self._report.staged.append(StagedFile(name, keys))


def _weight(row: dict[str, Any]) -> int:
    """About how many bytes a row takes in memory: its text, and nine bytes a token."""
    text = sum(len(part["text"]) for event in row["events"] for part in event["content"])
    return text + 9 * sum(len(sample["token_ids"]) for sample in row["samples"])
