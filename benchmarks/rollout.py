"""Plays a run in the benchmark's own process, with the plan, the directory and the driver of any run, and serves its
engines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.lag import export_beside_ray
from benchmarks.measure import MeasurementFailed
from ray_gym.config.sections import RunConfig
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.metrics.ray_export import RayExport
from ray_gym.models.base import EngineCheck
from ray_gym.run.directory.directory import RunDirectory, create, plan_directory
from ray_gym.run.driver.carrying_out import carry_out
from ray_gym.run.plan import Plan, make_plan

CONFIG = Path("benchmark.yaml")
"""Path of the config in error messages; no file is read."""


@contextmanager
def serve_engine(engine: VllmEngine, run: str, check: EngineCheck) -> Iterator[str]:
    """Starts an engine as a Serve application, yields the application's name, and stops it after the block.

    `run`: name of the run that it is started for. Errors: RunFailed if it does not come up; UserError.
    """
    engine.check(check)
    try:
        engine.start(run, check.model, lambda text: print(text, file=sys.stderr, flush=True))
        yield engine.app
    finally:
        engine.stop()


@contextmanager
def open_plan(config: RunConfig) -> Iterator[tuple[Plan, RunDirectory]]:
    """Yields a run's plan and its new directory, which stays open for the block."""
    plan, directory = make_plan(config, CONFIG), plan_directory(config, CONFIG)
    create(directory)
    try:
        directory.write_config(config)
        yield plan, directory
    finally:
        directory.close()


def play(config: RunConfig, lags: Path | None = None) -> Path:
    """Plays a run to its end and returns its directory.

    Its event loops write their lag to the folder `lags`; None: they write none.

    Errors: MeasurementFailed if the run failed or was interrupted.
    """
    export = RayExport if lags is None else partial(export_beside_ray, lags)
    with open_plan(config) as (plan, directory):
        outcome = carry_out(plan, directory, lambda text: None, lambda tally, in_flight: None, export=export)
    if outcome.failure or outcome.interrupted:
        raise MeasurementFailed(f"{directory.name}: {outcome.failure or 'interrupted'}")
    return directory.path
