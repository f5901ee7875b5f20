"""A run that a benchmark plays in its own process, on models that are up."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import MeasurementFailed
from ray_gym.config import RunConfig
from ray_gym.run.directory import create, plan_directory
from ray_gym.run.driver import MakeWorker, carry_out, make_worker
from ray_gym.run.plan import make_plan
from ray_gym.run.tally import Tally

CONFIG = Path("benchmark.yaml")
"""Nothing is read from it."""


def play(config: RunConfig, make: MakeWorker = make_worker) -> tuple[Tally, Path]:
    """What came of it, and its directory. `make` makes its workers. Errors: MeasurementFailed if it was not played to its end."""
    plan, directory = make_plan(config, CONFIG), plan_directory(config, CONFIG)
    create(directory)
    directory.write_config(config)
    try:
        outcome = carry_out(plan, directory, lambda text: None, lambda tally, in_flight: None, make)
    finally:
        directory.close()
    if outcome.failure or outcome.interrupted:
        raise MeasurementFailed(f"{directory.name}: {outcome.failure or 'interrupted'}")
    return outcome.tally, directory.path
