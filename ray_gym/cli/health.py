"""Implements `ray-gym health`: it says what is suspicious in a run, and where to look."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ray_gym.cli.output import make_console, write
from ray_gym.errors import UserError
from ray_gym.printable import data, data_line
from ray_gym.run.directory.location import shell_quoted

if TYPE_CHECKING:
    from rich.console import Console

    from ray_gym.health.examine import Health


def health(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one object of JSON, for other programs.")] = False,
) -> None:
    """Say what is suspicious in a run: cut answers, groups that are all alike, tools that err, wrong logprobs, and more.

    Each finding has its reason, three episodes, and a condition that selects all of them in `ray-gym view`. The exit
    code is 0 whatever is found.

    Example:

        ray-gym health runs/mine
    """
    from ray_gym.cli.unfinished import ended_line, unfinished_line
    from ray_gym.health.examine import examine
    from ray_gym.load import load

    found = load(run)
    health = examine(found.storage)
    if as_json:
        write(json.dumps(asdict(health), ensure_ascii=True, allow_nan=False) + "\n")
        return
    _print(found.location, health)
    for line in (unfinished_line(found, health.episodes, is_whole=not health.damaged), ended_line(found)):
        if line:
            make_console().print(line, highlight=False, soft_wrap=True)


def print_line(console: Console, location: str) -> None:
    """Prints a line about a run that has ended, if something in its first episodes is suspicious."""
    from ray_gym.health.examine import FIRST, examine
    from ray_gym.load import load

    try:
        health = examine(load(location).storage, FIRST)
    except (UserError, OSError):
        return  # the run is over: its summary is told, and `ray-gym health` says what can't be read
    kinds = list(dict.fromkeys(finding.kind for finding in health.findings))
    if kinds:
        command = f"ray-gym health {shell_quoted(location)}"
        told = f"  [yellow]suspicious[/]: {data_line(', '.join(kinds))}; {data_line(command)} says why"
        console.print(told, highlight=False, soft_wrap=True)


def _print(location: str, health: Health) -> None:
    """Prints the findings, and what could not be read."""
    console = make_console()
    count = len(health.findings)
    what = "nothing suspicious" if not count else f"{count} finding{'s' if count > 1 else ''}"
    seen = f"{what} in {health.episodes:,} episodes" if health.episodes or count else "there are no episodes to look at"
    console.print(f"{data_line(location)}: {seen}", highlight=False, soft_wrap=True)
    for problem in health.damaged:
        console.print(f"[red]left out:[/] {data_line(problem)}", highlight=False, soft_wrap=True)
    for finding in health.findings:
        text = " ".join(str(finding).split())  # a model may call a tool by any name
        console.print(f"[yellow]{data_line(finding.kind)}[/]: {data(text)}", highlight=False, soft_wrap=True)
        console.print(f"  [dim]{data_line(finding.why)}[/]", highlight=False, soft_wrap=True)
        console.print(f"  e.g. {data_line(', '.join(finding.episodes))}", highlight=False, soft_wrap=True)
        console.print(f"  in the viewer: {data_line(finding.where)}", highlight=False, soft_wrap=True)
    if count:
        example = f"ray-gym show {shell_quoted(location)} {health.findings[0].episodes[0]}"
        console.print(f"one of them: {data_line(example)}", highlight=False, soft_wrap=True)
