"""Implements `ray-gym report`: it writes a run as one page that opens from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ray_gym.cli.export import make_redaction
from ray_gym.cli.out import path_to_write
from ray_gym.cli.output import say
from ray_gym.installed.extras import require
from ray_gym.load import load
from ray_gym.load_object import load_object
from ray_gym.record.bounds import read_bound

WRITE = "ray_gym.report.writing:write_report"
"""Place of the function that writes reports."""
MOST = 100
"""Most episodes of a report."""


def report(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", parser=path_to_write, help="The file of HTML that is written."),
    ],
    episodes: Annotated[
        int, typer.Option(min=0, max=MOST, help="Most episodes that are shown, the most telling first.")
    ] = 12,
    success: Annotated[
        str, typer.Option("--success", metavar="BOUND", help="Reward of an episode that is a success.")
    ] = ">=1",
    redact: Annotated[
        list[str] | None,
        typer.Option(metavar="[COLUMN=]REGEX", help="Text that is replaced by [redacted], in all or in one column."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")] = False,
) -> None:
    """Write a run as one page of HTML: figures with intervals, plots, what is suspicious, and the most telling episodes
    with their tokens.

    The page opens from disk, has no script, and asks for nothing: it can be sent as it is.

    Examples:

        ray-gym report runs/mine -o report.html

        ray-gym report s3://bucket/runs/mine -o report.html --episodes 30
    """
    require(("scipy", "statsmodels"), "stats", "ray-gym report")
    bound = read_bound(success, "--success")
    redaction, unknown = make_redaction(load(run), redact or [])
    write_report: Any = load_object(WRITE, "ray-gym report")
    for remark in write_report(run, bound, redaction, out, episodes=episodes, overwrite=overwrite):
        say(f"warning: {remark}", err=True)
    for line in unknown:
        say(line, err=True)
    say(f"{out}: the report of {run}, {out.stat().st_size / 1e6:.1f} MB")
