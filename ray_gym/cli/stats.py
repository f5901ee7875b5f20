"""Implements `ray-gym stats`: it estimates what a run shows, or how two runs differ, with intervals over tasks."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ray_gym.cli.output import make_console, write
from ray_gym.errors import UserError
from ray_gym.installed.extras import require
from ray_gym.json_values import finite
from ray_gym.record.bounds import Bound, read_bound

if TYPE_CHECKING:
    from ray_gym.cli.stats_reading import ReadRun


@dataclass(frozen=True)
class Asked:
    """Holds the options of the command."""

    success: Bound
    attempts: list[int] | None
    columns: list[str]
    """Columns by which the parts of a run are described."""
    as_json: bool


def stats(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...", show_default=False),
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="[RUN2]", help="A second run, which is compared with the first.", show_default=False),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="COLUMN,...", help="Also tell parts of the run apart: env, task, stop, version, ..."
        ),
    ] = None,
    success: Annotated[
        str, typer.Option("--success", metavar="BOUND", help="Reward of an episode that is a success.")
    ] = ">=1",
    attempts: Annotated[
        str | None,
        typer.Option(
            "--attempts", metavar="K,...", help="Numbers of attempts, for pass@k. Default: powers of two up to 128."
        ),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            "--answers",
            metavar="HOW",
            help="For majority@k, find answers in the policy's last message: whole, last_boxed, answer_line, tag:NAME "
            "or regex:PATTERN.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object of JSON, for other programs.")] = False,
) -> None:
    """Estimate what a run shows, or how two runs differ, paired by task. Intervals know that episodes of a task are
    alike; `docs/statistics.md` says what is computed, and why.

    Examples:

        ray-gym stats runs/mine --by env,stop

        ray-gym stats runs/before runs/after --success '>0.5'
    """
    require(("scipy", "statsmodels"), "stats", "ray-gym stats")
    from ray_gym.cli.stats_reading import read_attempts, read_columns, read_extract, read_run

    asked = Asked(
        read_bound(success, "--success"),
        read_attempts(attempts) if attempts is not None else None,
        read_columns(by) if by is not None else [],
        as_json,
    )
    extract, versions = read_extract(answers) if answers is not None else None, "version" in asked.columns
    if second is None:
        _describe(read_run(run, extract, versions), asked)
    else:
        _compare(read_run(run, extract, versions), read_run(second, extract, versions), asked)


def _describe(read: ReadRun, asked: Asked) -> None:
    """Prints what a run shows."""
    from ray_gym.cli.stats_tables import print_description, print_slices
    from ray_gym.statistics.describe import describe
    from ray_gym.statistics.slices import slices_of

    slices = slices_of(read.collected, asked.columns, asked.success.allows) if asked.columns else []
    if asked.as_json:
        told = [{**asdict(one), "key": dict(zip(asked.columns, one.key, strict=True))} for one in slices]
        _write_json({**_of_run(read, asked), "by": told})
        return
    console = make_console()
    described = describe(read.collected, asked.success.allows, asked.attempts)
    print_description(console, read.location, described, read.remarks, asked.success)
    if slices:
        print_slices(console, asked.columns, slices)


def _compare(first: ReadRun, second: ReadRun, asked: Asked) -> None:
    """Prints how a second run differs from a first one."""
    from ray_gym.cli.stats_tables import print_compared_slices, print_comparison
    from ray_gym.statistics.compare import compare, compare_slices

    runs, is_success = (first.collected, second.collected), asked.success.allows
    try:
        compared = compare(*runs, is_success)
    except ValueError as error:
        raise UserError(f"{first.location} and {second.location} can't be compared: {error}") from None
    slices = compare_slices(*runs, asked.columns, is_success) if asked.columns else {}
    if asked.as_json:
        told = [
            {"key": dict(zip(asked.columns, key, strict=True)), **{name: asdict(one) for name, one in of.items()}}
            for key, of in slices.items()
        ]
        both = [_of_run(first, asked), _of_run(second, asked)]
        _write_json({"runs": both, "comparison": asdict(compared), "by": told})
        return
    console = make_console()
    print_comparison(console, (first, second), compared, asked.success)
    if slices:
        print_compared_slices(console, asked.columns, slices)


def _of_run(read: ReadRun, asked: Asked) -> dict[str, Any]:
    from ray_gym.statistics.describe import describe

    described = asdict(describe(read.collected, asked.success.allows, asked.attempts))
    described["remarks"] = [*read.remarks, *described["remarks"]]
    return {"run": read.location, "success_is": str(asked.success), **described}


def _write_json(told: dict[str, Any]) -> None:
    write(json.dumps(finite(told), ensure_ascii=True, allow_nan=False) + "\n")
