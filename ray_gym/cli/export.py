"""`ray-gym export`: a finished run for another project's trainer."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ray_gym.errors import UserError

if TYPE_CHECKING:
    from ray_gym.export.nemo_rl import Form
    from ray_gym.load import Run


class Trainer(StrEnum):
    NEMO_RL = "nemo-rl"


class FormName(StrEnum):
    SFT = "sft"
    PREFERENCE = "preference"
    ROLLOUTS = "rollouts"


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...")],
    to: Annotated[Trainer, typer.Option("--to", help="Whose form.")],
    form: Annotated[
        FormName,
        typer.Option(
            help="sft: conversations with at least a reward; preference: pairs within a group; rollouts: groups, token by token."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file of JSON lines that is written.")],
    min_reward: Annotated[float | None, typer.Option(help="Of sft: the lowest reward that is taken.")] = None,
    no_tools: Annotated[
        bool, typer.Option("--no-tools", help="Of sft: without the tools that prompts showed.")
    ] = False,
    min_gap: Annotated[float, typer.Option(min=0, help="Of preference: how far apart rewards are at least.")] = 0.0,
    single_response: Annotated[
        bool,
        typer.Option("--single-response", help="Of preference: only pairs that differ in one last response (DPO)."),
    ] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Also of a run that is not finished.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Exchange the file that is there.")] = False,
) -> None:
    """Write a finished run in a form that NeMo RL trains on; see `docs/nemo_rl.md`. Exit code 2, and nothing written, if nothing fits.

    Examples:

        ray-gym export runs/NAME --to nemo-rl --form sft --min-reward 1 --out train.jsonl

        ray-gym export runs/NAME --to nemo-rl --form rollouts --out rollouts.jsonl
    """
    from ray_gym.export import nemo_rl
    from ray_gym.load import load

    given = {"--min-reward": min_reward is not None, "--no-tools": no_tools}
    given |= {"--min-gap": bool(min_gap), "--single-response": single_response}
    _refuse_options_of_other_forms(form, [name for name, is_given in given.items() if is_given])
    loaded = load(run)
    with ExitStack() as stack:
        wanted: Form
        if form == FormName.SFT:
            wanted = _sft(loaded, min_reward, no_tools, stack)
        elif form == FormName.PREFERENCE:
            wanted = _preference(min_gap, single_response)
        else:
            wanted = _rollouts()
        counts = nemo_rl.export(loaded, wanted, out, partial=partial, overwrite=overwrite)
    typer.echo("\n".join(nemo_rl.report_lines(counts, out)))


def _refuse_options_of_other_forms(form: FormName, given: list[str]) -> None:
    """Errors: UserError."""
    own = {FormName.SFT: ("--min-reward", "--no-tools"), FormName.PREFERENCE: ("--min-gap", "--single-response")}
    for name in given:
        if name not in own.get(form, ()):
            whose = next(other for other, names in own.items() if name in names)
            raise UserError(f"{name}: it is an option of --form {whose}, not of {form}")


def _sft(run: Run, min_reward: float | None, no_tools: bool, stack: ExitStack) -> Form:
    """Errors: UserError."""
    from ray_gym.export.sft import Sft
    from ray_gym.export.tools_shown import ToolsShown

    if min_reward is None:
        raise UserError(
            "--min-reward: --form sft takes the conversations with at least that reward, e.g. --min-reward 1"
        )
    return Sft(min_reward, None if no_tools else stack.enter_context(ToolsShown(run)))


def _preference(min_gap: float, single_response: bool) -> Form:
    from ray_gym.export.preference import Preference

    return Preference(min_gap, single_response)


def _rollouts() -> Form:
    from ray_gym.export.rollouts import Rollouts

    return Rollouts()
