"""Implements `ray-gym track`: it writes a run's figures to a program that tracks experiments."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ray_gym.cli.output import say
from ray_gym.installed.extras import require
from ray_gym.record.bounds import read_bound

if TYPE_CHECKING:
    from ray_gym.tracking.figures import Figures


class Tracker(StrEnum):
    """Names the programs."""

    WANDB = "wandb"
    MLFLOW = "mlflow"


def track(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...", show_default=False),
    ],
    to: Annotated[Tracker, typer.Option("--to", help="Weights & Biases or MLflow, as their own settings reach them.")],
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Project of Weights & Biases, or experiment of MLflow.")
    ] = "ray_gym",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the run there. Default: that of the run.")
    ] = None,
    success: Annotated[
        str, typer.Option("--success", metavar="BOUND", help="Reward of an episode that is a success.")
    ] = ">=1",
) -> None:
    """Write the figures of a run to Weights & Biases or MLflow: what `ray-gym stats` estimates, and curves over the
    versions of the policy's weights (`docs/tracking.md`).

    Each call makes a new run there. Only figures go out: no messages, no tasks, no tokens, nothing of this machine.

    Examples:

        WANDB_MODE=offline ray-gym track runs/NAME --to wandb

        MLFLOW_TRACKING_URI=sqlite:///mlflow.db ray-gym track runs/NAME --to mlflow --project tic_tac_toe
    """
    bound = read_bound(success, "--success")
    require(to.value, to.value, f"--to {to.value}")
    require(("scipy", "statsmodels"), "stats", "ray-gym track")
    from ray_gym.cli.stats_reading import read_run
    from ray_gym.load import load
    from ray_gym.tracking.figures import figures_of

    read = read_run(run, versions=True)
    run_name = load(run).storage.name
    figures = figures_of(read.collected, bound.allows, {"run": run_name, "success_is": str(bound)})
    where = _writer(to)(figures, project, name or run_name)
    versions = len(figures.by_version)
    curves = f", curves over {versions} version{'s' * (versions > 1)}" if versions else ""
    say("\n".join([f"{where}: {len(figures.totals)} figures{curves}", *(f"note: {one}" for one in read.remarks)]))


def _writer(to: Tracker) -> Callable[[Figures, str, str], str]:
    if to is Tracker.WANDB:
        from ray_gym.tracking import to_wandb

        return to_wandb.write
    from ray_gym.tracking import to_mlflow

    return to_mlflow.write
