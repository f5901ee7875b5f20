"""Implements `ray-gym data`: it checks files of tasks, prepares them for runs, and writes generated ones."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ray_gym.cli.out import path_to_write
from ray_gym.cli.output import say, write
from ray_gym.data.file_kind import no_file
from ray_gym.errors import UserError, refused_writes
from ray_gym.printable import printable

MOST_IDS = 10
"""Number of ids of one kind that a conflict shows."""
MOST_TASKS = 10_000_000
"""Most tasks that are generated: they are held until they are written."""

app = typer.Typer(no_args_is_help=True, help="Validate files of tasks, prepare them for runs, and generate them.")

EnvironmentName = Annotated[
    str, typer.Option("--env", metavar="ID", help="An environment: an id or package.module:Class.")
]
EnvironmentOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the environment; may be repeated."),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Measure prompts in this model's tokens, e.g. smollm2-135m-instruct; else in characters."
    ),
]
ShowAll = Annotated[bool, typer.Option("--all", help="Show every bad row, however many there are.")]


@app.command()
def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Task rows: .jsonl or .parquet, NeMo Gym's too.")],
    env: EnvironmentName,
    option: EnvironmentOptions = None,
    tokenizer: Tokenizer = None,
    show_all: ShowAll = False,
) -> None:
    """Check every row of a file against an environment's task schema. The exit code is 2 if any row is bad, or there is
    none.

    Example:

        ray-gym data validate tasks.jsonl --env mcqa --option grading=lenient_boxed --tokenizer smollm2-135m-instruct
    """
    from ray_gym.data.report import report_lines
    from ray_gym.data.rows import TaskFile
    from ray_gym.data.validation import validate

    report = validate(TaskFile(_check_file(file)), _environment(env, option), _ruler(tokenizer))
    say("\n".join(report_lines(report, show_all)))
    if report.bad:
        raise UserError(f"{file}: bad rows: {len(report.bad):,} of {report.rows:,}")
    if not report.rows:
        raise UserError(f"{file}: there are no rows in it")


@app.command()
def prepare(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Task rows: .jsonl or .parquet, NeMo Gym's too.")
    ],
    env: EnvironmentName,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=path_to_write,
            help="Folder for train.parquet, validation.parquet and statistics.json.",
        ),
    ],
    option: EnvironmentOptions = None,
    validation: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="Share of the rows for validation.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed by which the validation rows are drawn.")] = 0,
    tokenizer: Tokenizer = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what was prepared there before.")] = False,
    show_all: ShowAll = False,
) -> None:
    """Write the rows of files as Parquet that a run's `tasks.path` takes, with statistics. If any row is bad, or other
    rows were prepared there before, nothing is written, and the exit code is 2.

    Example:

        ray-gym data prepare a.jsonl b.parquet --env mcqa --out data/mcqa --validation 0.05
    """
    from ray_gym.data.conflicts import conflict_with
    from ray_gym.data.prepared import SPLITS, Settings, files_of
    from ray_gym.data.prepared import prepare as prepare_rows
    from ray_gym.data.report import report_lines
    from ray_gym.data.writing import write_files

    environment = _environment(env, option)
    if out.exists() and not out.is_dir():
        raise UserError(f"--out: {out} is no directory")
    settings = Settings(env, environment.options.model_dump(mode="json"), validation, seed)
    prepared = prepare_rows([_check_file(file) for file in files], environment, settings, _ruler(tokenizer))
    for report in prepared.reports:
        say("\n".join(report_lines(report, show_all)))
    if prepared.bad:
        raise UserError(f"nothing was written: bad rows: {prepared.bad:,}")
    if not any(prepared.rows.values()):
        raise UserError("nothing was written: there are no rows")
    conflict = conflict_with(out, prepared)
    if conflict:
        told = "\n".join(f"  {line}" for line in conflict.lines(MOST_IDS))
        if not overwrite:
            raise UserError(f"nothing was written: {out} has other rows already (--overwrite replaces them)\n{told}")
        say(f"replaced in {out}:\n{told}")
    stale = [f"{split}.parquet" for split in SPLITS if not prepared.rows[split]]
    with refused_writes("--out", out):
        write_files(out, files_of(prepared), stale)
    counts = ", ".join(f"{split} {len(rows):,}" for split, rows in prepared.rows.items())
    say(f"{out}: {counts}")


@app.command()
def generate(
    env: EnvironmentName,
    n: Annotated[int, typer.Option("--n", min=1, max=MOST_TASKS, help="Number of tasks.")],
    seed: Annotated[
        int, typer.Option(help="Seed of the tasks, which are those of a run with this `run.seed` and `tasks.generate`.")
    ] = 0,
    option: EnvironmentOptions = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path_to_write,
            help="A .jsonl or .parquet file; without one they go to stdout as JSON Lines.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")] = False,
) -> None:
    """Write tasks of an environment's generator, to a file or to stdout.

    Example:

        ray-gym data generate --env calendar --n 1000 --seed 7 --out tasks.jsonl
    """
    from ray_gym.data.parquet import write_rows
    from ray_gym.data.prepared import rows_of
    from ray_gym.data.slow_generators import told_if_slowly_made
    from ray_gym.data.tasks import generate_tasks
    from ray_gym.data.writing import write_file

    if out is not None and out.suffix.lower() not in (".jsonl", ".parquet"):
        raise UserError(f"--out: {out} is neither .jsonl nor .parquet")
    if out is not None and out.exists() and not overwrite:
        raise UserError(f"--out: there is a file {out} already (--overwrite replaces it)")
    environment = _environment(env, option)
    rows = rows_of(
        list(told_if_slowly_made(generate_tasks(environment, seed, n), f"{type(environment).__name__}.generate", n))
    )
    if out is None or out.suffix.lower() == ".jsonl":
        written = "".join(f"{_json_line(row)}\n" for row in rows).encode()
    else:
        file = io.BytesIO()
        write_rows(rows, file)
        written = file.getvalue()
    if out is None:
        write(written)
        return
    with refused_writes("--out", out):
        write_file(out, written)
    say(f"{out}: {len(rows):,} tasks")


def _environment(name: str, options: list[str] | None) -> Any:
    """Returns the environment with this name and these options (KEY=VALUE). Errors: UserError if the environment is
    unknown or can't be made, or an option is wrong.
    """
    from ray_gym.config.file import interpolations_in
    from ray_gym.config.interpolations import errors_unfilled
    from ray_gym.config.options import WORD, read_options
    from ray_gym.plugins import construct, find_environment
    from ray_gym.wrong_hooks import require_hooks

    environment_class = find_environment(name, "--env")
    require_hooks(environment_class, f"--env {name}")
    given = read_options(environment_class.Options, options or [], name)
    with errors_unfilled(interpolations_in(options or [], WORD)):
        return construct(environment_class, given, f"--env {name}")


def _check_file(file: Path) -> Path:
    if not file.is_file():
        raise UserError(no_file(file))
    return file


def _ruler(tokenizer: str | None) -> Any:
    from ray_gym.data import lengths

    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # else it tells of each new try at a hub
    return lengths.character_ruler() if tokenizer is None else lengths.token_ruler(tokenizer)


def _json_line(row: dict[str, Any]) -> str:
    """Returns a row as JSON that a terminal shows as it is: in ASCII if it has characters that act there."""
    text = json.dumps(row, ensure_ascii=False)
    return text if printable(text) == text else json.dumps(row).replace("\x7f", "\\u007f")
