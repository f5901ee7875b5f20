"""Writes figures to Weights & Biases, by its own client, whose settings say where that is (WANDB_MODE, WANDB_API_KEY)."""

from __future__ import annotations

from ray_gym.errors import UserError
from ray_gym.tracking.figures import Figures

PREFIX = "by_version/"
"""Begin of the names of curves, whose axis is `version`."""


def write(figures: Figures, project: str, name: str) -> str:
    """Writes figures as one new run of a project, and returns where it is: an address, or a folder if it is offline.

    Only the figures are sent: no code, no git remote, nothing of this machine. Errors: UserError if the client refuses.
    """
    import wandb

    quiet = wandb.Settings(
        console="off",
        disable_git=True,
        disable_code=True,
        silent=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )
    try:
        with wandb.init(project=project, name=name, job_type="rollout", config=figures.facts, settings=quiet) as run:
            run.define_metric("version")
            run.define_metric(f"{PREFIX}*", step_metric="version")
            for version, numbers in figures.by_version.items():
                run.log({"version": version, **{f"{PREFIX}{key}": value for key, value in numbers.items()}})
            run.summary.update(figures.totals)
            where = run.dir.removesuffix("/files") if run.offline else run.url
    except wandb.errors.Error as error:
        raise UserError(f"--to wandb: {error}") from None
    return str(where)
