"""Plays the same episodes in two ways: on Ray, and in one process without Ray.

Each way is a function, which is called in a fresh process. The measured time is that from the first episode's start to
the last commit. The time in which workers start is reported apart.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import ray

from benchmarks.chat_environment import STEPS_PER_TURN, TURNS
from benchmarks.lag import LAGS, LagFile, Lags, export_beside_ray, lags_between
from benchmarks.measure import MeasurementFailed
from benchmarks.openai_answers import NAME
from benchmarks.openai_double import start_double
from benchmarks.rollout import open_plan
from ray_gym.config.sections import RunConfig
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.hosting.affinity import Transport
from ray_gym.hosting.import_paths import as_variables
from ray_gym.metrics.pulse import beating
from ray_gym.metrics.recorder import Recorder
from ray_gym.play.play import Played, play
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.driver.carrying_out import carry_out
from ray_gym.run.driver.tally import Tally
from ray_gym.run.plan import Plan
from ray_gym.run.worker.rows import AT_ONCE, Rows

Durability = Literal["off", "process", "disk"]
Models = Literal["in_process", "serve", "http"]
ROLL_ROWS = 2000
"""Number of rows after which a Parquet file is written."""
SAMPLES = 2
"""Number of samples of an episode: one for each participant, since no thread forks."""
READ_BACK = ("episode_id", "status", "started_at", "usage", "samples")


@dataclass(frozen=True, slots=True)
class Workload:
    """Sets the number of episodes, how many of them are in flight, and the processes and models that play them."""

    episodes: int
    concurrency: int
    workers: int = 0
    """Number of worker processes on Ray; 0 without Ray."""
    durability: Durability = "process"
    models: Models = "in_process"
    delay_ms: float = 0
    """Milliseconds before each answer of a model."""
    replicas: int = 1
    """Number of replicas of a model behind Serve."""
    transport: Transport = "batched"
    """Transport of the calls to these replicas."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Holds the counts of a case, read back from its Parquet files. Times are seconds of `time.time()`."""

    asked_at: float
    """Time at which play was asked for."""
    began_at: float
    """Time at which the first episode began."""
    ended_at: float
    """Time of the last commit."""
    rows: int
    episode_ids: int
    completed: int
    model_calls: int
    sampled: int = 0
    """Number of episodes whose samples hold tokens of both participants."""
    lags: Lags = field(default_factory=Lags)
    double: int | None = None
    """Process id of the double that answered over HTTP."""


def on_ray(load: Workload) -> CaseResult:
    """Plays with a run's driver and workers, on a Ray cluster that is started for it, and returns the counts.

    Errors: MeasurementFailed if no episode was committed, or the double of a model server does not come up.
    """
    with _prepare(load) as prepared, _ray(prepared.lags):
        return prepared.play_and_count(_carry_out)


def in_one_process(load: Workload) -> CaseResult:
    """Plays in this process, without Ray, workers, dispatcher and journal, and returns the counts.

    Errors: MeasurementFailed if no episode was committed, or the double of a model server does not come up.
    """
    with _prepare(load) as prepared:
        return prepared.play_and_count(lambda prepared: asyncio.run(_play_all(prepared, load.concurrency)))


def config_of(load: Workload, output: Path, base_url: str = "") -> RunConfig:
    """Makes the config of a case. `base_url` is the address of the double, for models over HTTP."""
    return RunConfig.model_validate(
        {
            "environment": {"id": "benchmarks.chat_environment:ChatEnvironment"},
            "tasks": {"generate": load.episodes},
            "models": {"double": _model(load, base_url)},
            "participants": {"policy": {"model": "double"}, "user": {"model": "double"}},
            "limits": {"max_turns": TURNS, "max_steps_per_turn": STEPS_PER_TURN},
            "fanout": {"workers": max(1, load.workers), "concurrency": load.concurrency},
            "output": {"dir": str(output), "durability": load.durability, "roll_rows": ROLL_ROWS},
        }
    )


def _model(load: Workload, base_url: str) -> dict[str, Any]:
    if load.models == "http":
        return {"engine": "openai", "base_url": base_url, "model": NAME}
    played = {"engine": "benchmarks.token_double:TokenDouble", "player": "benchmarks.chat_environment:player"}
    replicas = {"replicas": load.replicas, "max_ongoing_requests": load.concurrency, "transport": load.transport}
    served = replicas if load.models == "serve" else {}
    return {**played, **served, "delay_s": load.delay_ms / 1000}


@dataclass(frozen=True, slots=True)
class _Prepared:
    plan: Plan
    directory: RunDirectory
    lags: Path
    double: int | None

    def play_and_count(self, play_all: Callable[[_Prepared], float | None]) -> CaseResult:
        """Plays all episodes by `play_all`, counts their rows, and returns the counts.

        `play_all` returns the time of the last commit, or None if that is the moment at which it returns. Errors:
        MeasurementFailed if no episode was committed.
        """
        asked_at, ended_at = time.time(), play_all(self) or time.time()
        rows = pa.concat_tables(self.directory.storage.tables(READ_BACK)).combine_chunks()
        if not rows.num_rows:
            raise MeasurementFailed("no episode was committed")
        began_at = pc.min(rows.column("started_at")).as_py()
        return CaseResult(
            asked_at=asked_at,
            began_at=began_at,
            ended_at=ended_at,
            rows=rows.num_rows,
            episode_ids=len(pc.unique(rows.column("episode_id"))),
            completed=pc.sum(pc.equal(rows.column("status"), "completed")).as_py(),
            model_calls=pc.sum(pc.struct_field(rows.column("usage"), "model_calls")).as_py(),
            sampled=_count_sampled(rows.column("samples").combine_chunks()),
            lags=lags_between(self.lags, began_at, ended_at),
            double=self.double,
        )


def _count_sampled(samples: pa.ListArray) -> int:
    """Counts the episodes that have SAMPLES samples with tokens. `samples`: each episode's samples."""
    lengths = pc.list_value_length(pc.struct_field(samples.flatten(), "token_ids"))
    parents = pc.filter(pc.list_parent_indices(samples), pc.greater(lengths, 0))
    return sum(count == SAMPLES for count in Counter(parents.to_pylist()).values())


@contextmanager
def _prepare(load: Workload) -> Iterator[_Prepared]:
    with tempfile.TemporaryDirectory(prefix="ray_gym_benchmark_") as output, ExitStack() as opened:
        double = opened.enter_context(start_double(load.delay_ms)) if load.models == "http" else None
        config = config_of(load, Path(output), double.base_url if double else "")
        plan, directory = opened.enter_context(open_plan(config))
        lags = Path(output) / "lags"
        lags.mkdir()
        yield _Prepared(plan, directory, lags, double.pid if double else None)


@contextmanager
def _ray(lags: Path) -> Iterator[None]:
    """Starts a Ray cluster for the block, even if another is up, since the processes of a shared one could not be told
    apart. Its replicas write their lags to the folder `lags`.
    """
    os.environ.setdefault("RAY_worker_niceness", "0")  # as for a run that starts its cluster
    ray.init(
        address="local",
        include_dashboard=False,
        object_store_memory=cluster.LOCAL_OBJECT_STORE_BYTES,
        runtime_env={"env_vars": {**as_variables(), LAGS: str(lags)}},
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        yield
    finally:
        ray.shutdown()


def _carry_out(prepared: _Prepared) -> float:
    """Plays with the run's driver, and returns the time of the last commit, after which the driver reported progress."""
    last = 0.0

    def progress(tally: Tally, in_flight: int) -> None:
        nonlocal last
        last = time.time()

    export = partial(export_beside_ray, prepared.lags)
    carry_out(prepared.plan, prepared.directory, lambda text: None, progress, export=export)
    return last


async def _play_all(prepared: _Prepared, concurrency: int) -> None:
    plan = prepared.plan
    models = {name: engine.connect() for name, engine in plan.engines.items()}
    shared = Stage(plan.environment, plan.participants, models, plan.config.limits)
    waiting = iter(plan.specs)
    ended: list[Played] = []
    rows, files = Rows(prepared.directory.name, plan.config.environment.id), 0

    async def one_after_another(specs: Iterator[EpisodeSpec]) -> None:
        nonlocal rows, files
        for spec in specs:
            ended.append(await play(spec, shared))
            if len(ended) == AT_ONCE:
                rows.add(ended)
                ended.clear()
            if len(rows) >= ROLL_ROWS:
                full, rows, files = rows, Rows(prepared.directory.name, plan.config.environment.id), files + 1
                await asyncio.to_thread(_write, prepared.directory, files, full)

    async with beating(Recorder(), "worker", LagFile(prepared.lags, None)):
        await asyncio.gather(*(one_after_another(waiting) for _ in range(concurrency)))
    for model in models.values():
        await model.close()
    if ended:
        rows.add(ended)
    if len(rows):
        _write(prepared.directory, files + 1, rows)


def _write(directory: RunDirectory, number: int, rows: Rows) -> None:
    directory.commit(directory.storage.stage(f"part-{number:05d}.parquet", rows.table()))
