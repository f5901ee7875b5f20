"""Writes figures to MLflow, by its own client, whose settings say where that is (MLFLOW_TRACKING_URI)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ray_gym.errors import UserError
from ray_gym.tracking.figures import Figures

if TYPE_CHECKING:
    from mlflow.entities import Metric

PREFIX = "by_version/"
"""Begin of the names of curves, whose step is the version."""
AT_ONCE = 500
"""Number of metrics that are sent together; MLflow takes 1,000."""


def write(figures: Figures, project: str, name: str) -> str:
    """Writes figures as one new run of an experiment, and returns where it is. Errors: UserError if MLflow refuses, or
    can't be reached.
    """
    from mlflow import MlflowClient
    from mlflow.entities import Param
    from mlflow.exceptions import MlflowException

    try:
        client = MlflowClient()
        found = client.get_experiment_by_name(project)
        experiment = found.experiment_id if found is not None else client.create_experiment(project)
        run = client.create_run(experiment, run_name=name).info.run_id
        client.log_batch(run, params=[Param(key, value[:500]) for key, value in figures.facts.items()])
        metrics = _metrics(figures)
        while some := list(islice(metrics, AT_ONCE)):
            client.log_batch(run, metrics=some)
        client.set_terminated(run)
    except MlflowException as error:
        raise UserError(f"--to mlflow: {error}") from None
    return f"experiment {project}, run {run}"


def _metrics(figures: Figures) -> Iterator[Metric]:
    from mlflow.entities import Metric

    now_ms = int(time.time() * 1000)
    for key, value in figures.totals.items():
        yield Metric(key, value, now_ms, 0)
    for version, numbers in figures.by_version.items():
        for key, value in numbers.items():
            yield Metric(f"{PREFIX}{key}", value, now_ms, version)
