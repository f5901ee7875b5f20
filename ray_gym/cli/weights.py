"""Implements `ray-gym weights`: it shows the version of a model's weights, or updates them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ray_gym.cli.output import say


def weights(
    app: Annotated[
        str,
        typer.Argument(
            metavar="APP",
            help="The model's Serve application: RUN-MODEL; of a service, service-NAME-MODEL.",
            show_default=False,
        ),
    ],
    version: Annotated[
        int | None, typer.Option(metavar="N", help="Number of the new version, greater than the one that is served.")
    ] = None,
    path: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of a checkpoint that every node sees.")
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of a LoRA adapter, in the place of a checkpoint.")
    ] = None,
    line: Annotated[
        str, typer.Option(metavar="NAME", help="Line of LoRA adapters: a model with engine: vllm_adapter.")
    ] = "",
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="What happens to requests under way: keep, wait or abort.")
    ] = "keep",
) -> None:
    """Show the version of a model's weights, or load another version in all its replicas.

    Uses the Ray cluster that is running (`RAY_ADDRESS`, or one on this machine). If the weights don't fit, or can't be
    loaded, the model keeps those that it has.

    Examples:

        ray-gym weights my-run-policy

        ray-gym weights my-run-policy --version 7 --path /shared/checkpoints/step-700
    """
    from typing import cast, get_args

    from ray_gym.errors import UserError
    from ray_gym.run.cluster.cluster import check_running, connect
    from ray_gym.weights.client import Weights
    from ray_gym.weights.orders import PauseMode

    given = path is not None or adapter is not None
    if (version is not None) != given:
        raise UserError("give --version with --path or --adapter, or none of them to see what is served")
    if mode not in get_args(PauseMode):
        raise UserError(f"--mode: {mode!r} is none of {', '.join(get_args(PauseMode))}")
    check_running()
    with connect():
        found = Weights(app, line)
        if version is not None:
            here, there = path and path.absolute(), adapter and adapter.absolute()
            found.update(version, here, adapter=there, mode=cast(PauseMode, mode))
        status = found.status()
        current = status.current
        say(f"{app}: {current} ({current.source or 'what it was started with'})")
        for each in status.lines:
            say(f"{app}: {each} ({each.source if each.is_adapter else 'without an adapter'})")
        if status.updating_to is not None:
            say(f"being updated to {status.updating_to} ({status.updating_to.source}): {status.step}")
