"""Implements `ray-gym export`: it writes a finished run for another project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ray_gym.cli.out import path_to_write
from ray_gym.cli.output import say
from ray_gym.errors import UserError

if TYPE_CHECKING:
    from ray_gym.export.filters import Filters
    from ray_gym.export.hub import Push
    from ray_gym.export.redaction import Redaction
    from ray_gym.run.directory.reading import Run


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...")],
    out: Annotated[Path, typer.Option(metavar="FILE", parser=path_to_write, help="The file that is written.")],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Options of the form.", show_default=False),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="Who reads it; a wrong name lists the known ones.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="What is written, where --to has several, or a form of another package."),
    ] = None,
    status: Annotated[list[str] | None, typer.Option(metavar="STATUS", help="Only episodes with it.")] = None,
    reward: Annotated[
        list[str] | None, typer.Option(metavar="BOUND", help="Only episodes with such a reward, e.g. '<0.5'.")
    ] = None,
    min_reward: Annotated[float | None, typer.Option(help="Only episodes with at least this reward.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Only episodes whose note has it, or another one given.")
    ] = None,
    trainable: Annotated[
        bool, typer.Option("--trainable", help="Only episodes with a sample that a trainer can use.")
    ] = False,
    participant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose view is written, where a form asks; else the policy's.")
    ] = None,
    redact: Annotated[
        list[str] | None,
        typer.Option(metavar="[COLUMN=]REGEX", help="Text that is replaced by [redacted], in all or in one column."),
    ] = None,
    no_tools: Annotated[bool, typer.Option("--no-tools", help="sft: leave out the tools that prompts showed.")] = False,
    min_gap: Annotated[
        float | None, typer.Option(min=0, help="preference: least distance between the rewards of a pair.")
    ] = None,
    single_response: Annotated[
        bool,
        typer.Option("--single-response", help="preference: take only pairs that differ in one last response (DPO)."),
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a run that is not finished, or damaged in parts.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")] = False,
    push_to_hub: Annotated[
        str | None, typer.Option(metavar="REPO", help="Also send it to a private data set of the Hugging Face hub.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="--push-to-hub: let the repository be public.")] = False,
) -> None:
    """Write a finished run for whoever reads it next: trainers, other formats (`docs/export.md`), or your own
    (`docs/extending.md`).

    If there is no line to write, nothing is written, and the exit code is 2.

    Examples:

        ray-gym export runs/NAME --to jsonl --out episodes.jsonl

        ray-gym export runs/NAME --to trl --form sft --min-reward 1 --redact '[\\w.]+@[\\w.]+' --out train.parquet
    """
    from ray_gym.export import writing
    from ray_gym.export.form import choose_form, read_options
    from ray_gym.load import load

    name, chosen = choose_form(form, to)
    flags: dict[str, Any] = {"--no-tools": no_tools or None, "--single-response": single_response or None}
    flags |= {"--min-gap": min_gap, "--participant": participant}
    bounds = [("--reward", text) for text in reward or []]
    if "min_reward" in chosen.Options.model_fields:
        flags["--min-reward"] = min_reward
    elif min_reward is not None:
        bounds.append(("--min-reward", f">={min_reward}"))
    given = {**_read(options or []), **{word: value for word, value in flags.items() if value is not None}}
    read = read_options(name, chosen, given)
    loaded = load(run)
    filters = _filters(loaded, status or [], bounds, label or [], trainable)
    redaction, unknown = make_redaction(loaded, redact or [])
    push = _push(push_to_hub, public, overwrite)
    if push is not None:
        push.check(name, chosen)
    with chosen.open_form(read, loaded) as wanted:
        counts = writing.export(
            loaded, wanted, out, filters=filters, redaction=redaction, partial=partial, overwrite=overwrite
        )
    say("\n".join([*writing.report_lines(counts, out), *unknown]))
    if push is not None:
        say(f"sent to {push.send(out)}")


def _push(repo: str | None, public: bool, overwrite: bool) -> Push | None:
    """Returns where on the hub the file goes; None for nowhere. Errors: UserError for `--public` alone."""
    from ray_gym.export.hub import Push

    if repo is None and public:
        raise UserError("--public: it is an option of --push-to-hub REPO")
    return None if repo is None else Push(repo, public, overwrite)


def _filters(run: Run, status: list[str], bounds: list[tuple[str, str]], label: list[str], trainable: bool) -> Filters:
    """Makes the filters of the command. Errors: UserError that names the option."""
    from ray_gym.export.filters import Filters, check_statuses, labelled
    from ray_gym.record.bounds import read_bound

    check_statuses(status)
    rewards = tuple(read_bound(text, option) for option, text in bounds)
    return Filters(status, rewards, trainable, labelled(run, label))


def make_redaction(run: Run, given: list[str]) -> tuple[Redaction, list[str]]:
    """Makes the redaction of a command, and lines of text about secrets that can't be searched for here."""
    from ray_gym.export.redaction import Redaction
    from ray_gym.export.secrets import secrets_of

    secrets = secrets_of(run)
    told = [
        f"note: {name} is not set here: its value, if an episode has it, was not looked for" for name in secrets.unset
    ]
    if secrets.unread:
        config = f"{run.location}/run.yaml: {secrets.unread}"
        told.append(f"warning: {config}; so values of secrets were not looked for: look before you share this")
    return Redaction.of(given, secrets), told


def _read(options: list[str]) -> dict[str, str]:
    """Returns the values of KEY=VALUE arguments, by their keys. Errors: UserError for an argument without `=`."""
    for option in options:
        if "=" not in option:
            raise UserError(f"{option}: options of a form are given as KEY=VALUE, e.g. min_reward=1")
    return dict(option.split("=", 1) for option in options)
