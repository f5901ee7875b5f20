"""Implements `ray-gym view`: it shows runs in a browser."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from ray_gym.cli.output import say
from ray_gym.load_object import load_object

SERVE = "ray_gym.viewer.serving:serve"
"""Place of the function that serves the viewer."""
NICENESS = 10
"""Number that is added to the process's niceness: where a run and its viewer want the same core, the run gets most of it."""


def view(
    locations: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN [RUN2]", help="A run, two to compare, or a folder of runs: paths, or URIs like s3://..."
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen at. Any but loopback needs the token that is printed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")] = 7266,
) -> None:
    """Show runs in a browser: episodes, what each participant saw, tokens, groups, and what differs between two runs.

    A run that is being played is shown as far as it is, and is not disturbed. Nothing is written but notes, and nothing
    is fetched from elsewhere.

    Examples:

        ray-gym view runs

        ray-gym view runs/before runs/after
    """
    os.nice(NICENESS)  # before any thread begins: threads that begin later inherit it
    serve: Any = load_object(SERVE, "ray-gym view")
    serve(locations, host, port, say)
