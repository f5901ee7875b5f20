"""Implements `ray-gym export`: it writes a finished run for another project's trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ray_gym.cli.output import say
from ray_gym.errors import UserError


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...")],
    form: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="What is written. sft: conversations with a reward; preference: pairs within a group; rollouts: groups, "
            "token by token; or a form of another package.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file of JSON lines that is written.")],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Options of the form.", show_default=False),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TRAINER", help="Trainer that reads the form: nemo-rl.")
    ] = None,
    min_reward: Annotated[float | None, typer.Option(help="sft: leave out episodes with a lower reward.")] = None,
    no_tools: Annotated[bool, typer.Option("--no-tools", help="sft: leave out the tools that prompts showed.")] = False,
    min_gap: Annotated[
        float | None, typer.Option(min=0, help="preference: least distance between the rewards of a pair.")
    ] = None,
    single_response: Annotated[
        bool,
        typer.Option("--single-response", help="preference: take only pairs that differ in one last response (DPO)."),
    ] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Accept a run that is not finished.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")] = False,
) -> None:
    """Write a finished run in a form that a trainer reads: NeMo RL's (`docs/nemo_rl.md`) or your own
    (`docs/extending.md`).

    If there is no line to write, nothing is written, and the exit code is 2.

    Examples:

        ray-gym export runs/NAME --to nemo-rl --form sft --min-reward 1 --out train.jsonl

        ray-gym export runs/NAME --to nemo-rl --form rollouts --out rollouts.jsonl
    """
    from ray_gym.export import writing
    from ray_gym.export.form import find_form, read_options
    from ray_gym.load import load

    chosen = find_form(form, to)
    flags = {"--min-reward": min_reward, "--no-tools": no_tools or None}
    flags |= {"--min-gap": min_gap, "--single-response": single_response or None}
    given = {**_read(options or []), **{name: value for name, value in flags.items() if value is not None}}
    read = read_options(form, chosen, given)
    loaded = load(run)
    with chosen.open_form(read, loaded) as wanted:
        counts = writing.export(loaded, wanted, out, partial=partial, overwrite=overwrite)
    say("\n".join(writing.report_lines(counts, out)))


def _read(options: list[str]) -> dict[str, str]:
    """Returns the values of KEY=VALUE arguments, by their keys. Errors: UserError for an argument without `=`."""
    for option in options:
        if "=" not in option:
            raise UserError(f"{option}: options of a form are given as KEY=VALUE, e.g. min_reward=1")
    return dict(option.split("=", 1) for option in options)
