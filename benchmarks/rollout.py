"""A run that a benchmark plays in its own process, on models that are up."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.lag import beside_ray
from benchmarks.measure import MeasurementFailed
from ray_gym.config.sections import RunConfig
from ray_gym.metrics.ray_export import RayExport
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.driver.driver import carry_out
from ray_gym.run.driver.tally import Tally
from ray_gym.run.plan import make_plan

CONFIG = Path("benchmark.yaml")
"""Nothing is read from it."""


def play(config: RunConfig, lags: Path | None = None) -> tuple[Tally, Path]:
    """What came of it, and its directory. `lags`: a folder in which its event loops tell how late they are.

    Errors: MeasurementFailed if it was not played to its end.
    """
    plan, directory = make_plan(config, CONFIG), plan_directory(config, CONFIG)
    create(directory)
    directory.write_config(config)
    export = RayExport if lags is None else partial(beside_ray, lags)
    try:
        outcome = carry_out(plan, directory, lambda text: None, lambda tally, in_flight: None, export=export)
    finally:
        directory.close()
    if outcome.failure or outcome.interrupted:
        raise MeasurementFailed(f"{directory.name}: {outcome.failure or 'interrupted'}")
    return outcome.tally, directory.path
