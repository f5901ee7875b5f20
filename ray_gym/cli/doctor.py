"""Implements `ray-gym doctor`: it finds problems of a cluster, for a config or for all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ray_gym.cli.output import make_console
from ray_gym.installed.configs import find_config
from ray_gym.printable import data

if TYPE_CHECKING:
    from ray_gym.doctor.result import Result


def doctor(
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CONFIG]", help="A config that is to run there: a file, or a name.", show_default=False
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Overrides by dotted key, e.g. `output.dir=/shared/runs`."),
    ] = None,
    deadline: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Seconds to wait for each answer of a node.")
    ] = 60,
) -> None:
    """Check every node of the running cluster, for a config if one is given, and tell how to mend each problem.

    It checks versions, clocks, room for replicas and workers on the nodes, model files, the service's port, folders of
    output and journals, and tokens; and it says which kinds of sandbox each node has. It loads no model and starts no
    run. Exits with 1 if there are problems.

    Examples:

        ray-gym doctor

        ray-gym doctor cluster/pools.yaml output.dir=/shared/runs
    """
    from ray_gym.doctor.command import diagnose

    found = None if config is None else find_config(config)
    results = diagnose(found, list(overrides or []), deadline)
    console = make_console()
    for result in results:
        _print(console, result)
    problems = sum(not result.is_well for result in results)
    console.print(f"{problems} problem{'s' * (problems != 1)}" if problems else "all is well", highlight=False)
    if problems:
        raise typer.Exit(1)


def _print(console: Console, result: Result) -> None:
    mark = "[green]ok      [/]" if result.is_well else "[red]problem [/]"
    line = f"{mark} {data(result.node):<20} [bold]{data(result.check):<18}[/] {data(result.found)}"
    console.print(line, highlight=False, soft_wrap=True)
    if result.mend:
        console.print(f"         [dim]to mend it:[/] {data(result.mend)}", highlight=False, soft_wrap=True)
