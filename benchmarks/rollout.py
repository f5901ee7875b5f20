"""A run that a benchmark plays in its own process, on models that are up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.lag import beside_ray
from benchmarks.measure import MeasurementFailed
from ray_gym.config import RunConfig
from ray_gym.metrics.pulse import beating
from ray_gym.metrics.recorder import Recorder
from ray_gym.run.commits import Commits
from ray_gym.run.directory import RunDirectory, create, plan_directory
from ray_gym.run.driver import Driver, Outcome, carry_out, setup_of, standing
from ray_gym.run.garbage import overlook_what_is_there
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.tally import Tally

CONFIG = Path("benchmark.yaml")
"""Nothing is read from it."""


Notify = Callable[[Tally, int], None]


def play(config: RunConfig, lags: Path | None = None) -> tuple[Tally, Path]:
    """What came of it, and its directory. Errors: MeasurementFailed if it was not played to its end."""
    plan, directory = make_plan(config, CONFIG), plan_directory(config, CONFIG)
    create(directory)
    directory.write_config(config)
    try:
        outcome = (
            carry_out(plan, directory, lambda text: None, _nothing)
            if lags is None
            else carry_out_watched(plan, directory, _nothing, lags)
        )
    finally:
        directory.close()
    if outcome.failure or outcome.interrupted:
        raise MeasurementFailed(f"{directory.name}: {outcome.failure or 'interrupted'}")
    return outcome.tally, directory.path


def carry_out_watched(plan: Plan, directory: RunDirectory, notify: Notify, lags: Path) -> Outcome:
    """As a run is, but for what is told of event loops: their lags come in files of this folder, too."""
    recorder = Recorder()
    commits = standing(plan, directory, notify, recorder)
    overlook_what_is_there()
    with ExitStack() as started:
        for name, engine in plan.engines.items():
            started.callback(engine.stop)
            engine.start(directory.name, name, lambda text: None)
        return asyncio.run(_drive(plan, directory, commits, recorder, lags))


async def _drive(plan: Plan, directory: RunDirectory, commits: Commits, recorder: Recorder, lags: Path) -> Outcome:
    export = partial(beside_ray, lags)
    setup = replace(setup_of(plan, directory), export=export)
    async with beating(recorder, "driver", export()):
        return await Driver(setup, directory, commits, asyncio.Event()).run()


def _nothing(tally: Tally, in_flight: int) -> None:
    """Nobody waits for its progress."""
