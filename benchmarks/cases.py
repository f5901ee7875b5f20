"""Ways to play the same episodes. Each is a function of its own process, and says when play began and ended.

Play begins with the first episode and ends with the last commit. That workers have to be started first is told apart.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow.compute as pc
import ray

from benchmarks.chat_environment import STEPS_PER_TURN, TURNS
from benchmarks.measure import MeasurementFailed
from ray_gym.config import RunConfig
from ray_gym.load import load
from ray_gym.play import Stage, play
from ray_gym.run import cluster
from ray_gym.run.directory import RunDirectory, create, plan_directory
from ray_gym.run.driver import carry_out
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.tally import Tally
from ray_gym.spec import EpisodeSpec
from ray_gym.trajectory import as_row, as_table

Durability = Literal["off", "process", "disk"]


@dataclass(frozen=True, slots=True)
class Load:
    """How much is played, and how much of it at once. One process has no workers."""

    episodes: int
    concurrency: int
    workers: int = 0
    durability: Durability = "process"
    roll_rows: int = 2000


@dataclass(frozen=True, slots=True)
class Played:
    """What a case did, and when, in seconds of `time.time()`. All counts are read back from the Parquet files.

    `tally_s` is what the run's own summary gives as its seconds, where there is one.
    """

    asked_at: float
    began_at: float
    ended_at: float
    rows: int
    episode_ids: int
    completed: int
    model_calls: int
    tally_s: float | None
    progress: tuple[tuple[float, int], ...] = ()
    """How many episodes were done at which times, on Ray."""


def on_ray(load: Load) -> Played:
    """The real driver on a Ray cluster of its own."""
    with _planned(load) as (plan, directory):
        _start_ray()
        try:
            commits = _Commits()
            asked_at = time.time()
            outcome = carry_out(plan, directory, lambda text: None, commits)
        finally:
            ray.shutdown()
        played = _read_back(directory, asked_at, commits.last_at, outcome.tally.took_s)
        return replace(played, progress=tuple(commits.progress))


def in_one_process(load: Load) -> Played:
    """The same play, records and files without Ray, workers or a dispatcher: what is left is what Ray costs."""
    with _planned(load) as (plan, directory):
        asked_at = time.time()
        asyncio.run(_play_all(plan, directory, load.concurrency))
        return _read_back(directory, asked_at, time.time())


def config_of(load: Load, output: Path) -> RunConfig:
    players = {name: f"benchmarks.chat_environment:{name}_player" for name in ("policy", "user")}
    return RunConfig.model_validate(
        {
            "environment": {"id": "benchmarks.chat_environment:ChatEnvironment"},
            "tasks": {"generate": load.episodes},
            "models": {name: {"engine": "scripted", "player": player} for name, player in players.items()},
            "participants": {"policy": {"model": "policy"}, "user": {"model": "user"}},
            "limits": {"max_turns": TURNS, "max_steps_per_turn": STEPS_PER_TURN},
            "fanout": {"workers": max(1, load.workers), "concurrency": load.concurrency},
            "output": {"dir": str(output), "durability": load.durability, "roll_rows": load.roll_rows},
        }
    )


@contextmanager
def _planned(load: Load) -> Iterator[tuple[Plan, RunDirectory]]:
    with tempfile.TemporaryDirectory(prefix="ray_gym_benchmark_") as output:
        path = Path("orchestration.yaml")  # names the run; nothing is read from it
        config = config_of(load, Path(output))
        plan = make_plan(config, path)
        directory = plan_directory(config, path)
        create(directory)
        directory.write_config(config)
        try:
            yield plan, directory
        finally:
            directory.close()


@dataclass
class _Commits:
    """The driver tells of progress after it has committed, so the last time that it does is the last commit."""

    last_at: float = field(default_factory=time.time)
    progress: list[tuple[float, int]] = field(default_factory=list)

    def __call__(self, tally: Tally, in_flight: int) -> None:
        self.last_at = time.time()
        self.progress.append((self.last_at, tally.done))


def _start_ray() -> None:
    """A cluster of our own also where another is running: whose processes are whose could not be told otherwise."""
    paths = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    ray.init(
        address="local",
        include_dashboard=False,
        object_store_memory=cluster.LOCAL_OBJECT_STORE_BYTES,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(paths)}},
        log_to_driver=False,
        logging_level="ERROR",
    )


async def _play_all(plan: Plan, directory: RunDirectory, concurrency: int) -> None:
    models = {name: engine.connect() for name, engine in plan.engines.items()}
    shared = Stage(plan.environment, plan.participants, models, plan.config.limits)
    waiting = iter(plan.specs)
    rows: list[dict[str, Any]] = []
    files = 0

    async def one_after_another(specs: Iterator[EpisodeSpec]) -> None:
        nonlocal rows, files
        for spec in specs:
            played = await play(spec, shared)
            rows.append(as_row(played, directory.name, plan.config.environment.id))
            if len(rows) >= plan.config.output.roll_rows:
                full, rows, files = rows, [], files + 1
                await asyncio.to_thread(_write, directory, files, full)

    await asyncio.gather(*(one_after_another(waiting) for _ in range(concurrency)))
    if rows:
        _write(directory, files + 1, rows)


def _write(directory: RunDirectory, number: int, rows: list[dict[str, Any]]) -> None:
    directory.commit(directory.storage.stage(f"part-{number:05d}.parquet", as_table(rows)))


def _read_back(directory: RunDirectory, asked_at: float, ended_at: float, tally_s: float | None = None) -> Played:
    episodes = load(directory.location).episodes
    if not episodes.num_rows:
        raise MeasurementFailed("no episode was committed")
    return Played(
        asked_at=asked_at,
        began_at=pc.min(episodes.column("started_at")).as_py(),
        ended_at=ended_at,
        rows=episodes.num_rows,
        episode_ids=pc.count_distinct(episodes.column("episode_id")).as_py(),
        completed=pc.sum(pc.equal(episodes.column("status"), "completed")).as_py(),
        model_calls=pc.sum(pc.struct_field(episodes.column("usage"), "model_calls")).as_py(),
        tally_s=tally_s,
    )
