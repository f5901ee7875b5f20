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
from ray_gym.models.base import Engine
from ray_gym.participant import Participant
from ray_gym.play import Played, Stage, play
from ray_gym.run.directory import stage as stage_file
from ray_gym.run.dispatcher import EpisodeKey
from ray_gym.trajectory import as_row, as_table

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
class Receipt:
    """What the driver learns of a finished episode; everything else is in its row."""

    episode: EpisodeKey
    status: str
    stop_reason: str
    stop_text: str
    failure: str | None
    reward: float | None
    tokens: int
    model_calls: int
    turns: int


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
        played = await play(spec, self._stage)
        key = EpisodeKey(spec.episode_id, spec.attempt)
        row = as_row(played, self._setup.run_id, self._setup.env_id)
        self._rows.append(row)
        self._row_keys.append(key)
        self._bytes += _weight(row)
        self._report.finished.append(_receipt(key, played))
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


def _receipt(key: EpisodeKey, played: Played) -> Receipt:
    episode = played.episode
    return Receipt(
        episode=key,
        status=played.status,
        stop_reason=episode.stop.reason.value if episode.stop else "",
        stop_text=episode.stop.text[:80] if episode.stop else "",
        failure=f"{played.failure.kind} in {played.failure.where}: {played.failure.message}"
        if played.failure
        else None,
        reward=played.score.reward if played.score else None,
        tokens=episode.usage.generated_tokens,
        model_calls=episode.usage.model_calls,
        turns=len(episode.turns),
    )


def _weight(row: dict[str, Any]) -> int:
    """About how many bytes a row takes in memory: its text, and nine bytes a token."""
    text = sum(len(part["text"]) for event in row["events"] for part in event["content"])
    return text + 9 * sum(len(sample["token_ids"]) for sample in row["samples"])
