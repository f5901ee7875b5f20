"""Plays a run in the benchmark's own process, with the plan, the directory and the driver of any run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.lag import export_beside_ray
from benchmarks.measure import MeasurementFailed
from ray_gym.config.sections import RunConfig
from ray_gym.metrics.ray_export import RayExport
from ray_gym.run.directory.directory import RunDirectory, create, plan_directory
from ray_gym.run.driver.carrying_out import carry_out
from ray_gym.run.plan import Plan, make_plan

CONFIG = Path("benchmark.yaml")
"""Path of the config in error messages; no file is read."""


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
