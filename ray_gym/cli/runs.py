"""Implements `ray-gym runs`: it lists the runs of a folder, and removes old ones."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ray_gym.cli.output import DataTable, make_console, say, write
from ray_gym.errors import RunFailed, UserError

if TYPE_CHECKING:
    from ray_gym.run.directory.listing import ListedRun

app = typer.Typer(help="List the runs of a folder, and remove old ones.", invoke_without_command=True)
Folder = Annotated[
    str, typer.Option("--dir", metavar="FOLDER", help="The folder of the runs: a path, or a URI like s3://...")
]


@app.callback()
def runs(
    context: typer.Context,
    folder: Folder = "runs",
    as_json: Annotated[bool, typer.Option("--json", help="Print an object a line, for other programs.")] = False,
) -> None:
    """List the runs of a folder, the newest last, with their state, figures and size.

    A run is `live` (a driver writes it), `finished`, `interrupted` (it has ended before), `unfinished` (its driver has
    died), a trainer's `stream`, or `damaged`.

    Example:

        ray-gym runs --dir /shared/runs
    """
    if context.invoked_subcommand is not None:
        context.obj = folder
        return
    from ray_gym.run.directory.listing import runs_in

    found = sorted(runs_in(folder), key=lambda run: run.changed)
    if as_json:
        write("".join(f"{json.dumps(asdict(run), ensure_ascii=True)}\n" for run in found))
        return
    if not found:
        say(f"no runs in {folder}")
        return
    _print(found)


def _print(found: list[ListedRun]) -> None:
    """Prints runs as a table, and the problems of damaged ones below it."""
    from ray_gym.models.price import told_money
    from ray_gym.run.directory.listing import age_of

    costs = any(run.cost is not None for run in found)
    columns = ("run", "state", "episodes", "failed", "mean reward", *(["cost"] if costs else []), "size", "changed")
    console, table = make_console(), DataTable(*columns)
    for run in found:
        of = f" of {run.planned}" if run.planned is not None else ""
        reward = "" if run.mean_reward is None else f"{run.mean_reward:.3f}"
        age = f"{age_of(run.changed)} ago"
        cost = ["" if run.cost is None else told_money(run.cost)] if costs else []
        table.add_data(
            run.name, run.state, f"{run.episodes}{of}", run.failed or "", reward, *cost, size_of(run.size), age
        )
    console.print(table)
    for run in found:
        if run.problem:
            say(f"{run.name}: {run.problem}")
        if run.failure:
            say(f"{run.name}: the run was ended: {run.failure}")


@app.command()
def prune(
    context: typer.Context,
    folder: Annotated[str | None, typer.Option("--dir", metavar="FOLDER", help="The folder of the runs.")] = None,
    older_than: Annotated[
        float, typer.Option(metavar="DAYS", min=0, help="Remove only runs that were last changed so many days ago.")
    ] = 30,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them. Without it, the command only says which.")] = False,
) -> None:
    """Remove finished runs that are old. Says which it would remove unless it is told to by `--yes`.

    A run that is live or can be resumed (interrupted, unfinished, a stream), or that is damaged, is never removed.

    Example:

        ray-gym runs prune --dir runs --older-than 90 --yes
    """
    from ray_gym.run.directory.listing import DAY_S, remove_run, require_whole, runs_in
    from ray_gym.run.directory.ownership import RunIsTaken

    listed, now = list(runs_in(folder or context.obj)), time.time()
    old = [run for run in listed if run.may_be_removed(older_than * DAY_S, now)]
    kept = len(listed) - len(old)
    left, size = 0, 0
    for run in old:
        try:
            remove_run(run.location) if yes else require_whole(run.location)
            size += run.size
            say(f"{'removed' if yes else 'would remove'} {run.location} ({size_of(run.size)})")
        except (RunIsTaken, UserError) as error:
            kept += 1
            say(f"kept {run.location}: {error}")
        except OSError as error:
            left += 1
            say(f"kept {run.location}: it can't be removed: {error.strerror or error}")
    gone = len(listed) - kept - left
    hint = "" if yes or not gone else "; --yes removes them"
    say(f"{gone} runs with {size_of(size)} are finished and older than {older_than:g} days; {kept} are kept{hint}")
    if left:
        raise RunFailed(f"{left} of them can't be removed; see above")


def newest_in(folder: str) -> str:
    """Returns the location of the run of a folder that was changed last. Errors: UserError if there is none."""
    from ray_gym.run.directory.listing import runs_in

    found = max(runs_in(folder), key=lambda run: run.changed, default=None)
    if found is None:
        raise UserError(f"no runs in {folder}; give RUN, a run directory")
    return found.location


def size_of(size: int) -> str:
    """Returns a number of bytes in words."""
    for unit, length in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= length:
            return f"{size / length:.1f} {unit}"
    return f"{size} B"
