"""Implements `ray-gym`: its commands, and the conversion of their errors to messages and exit codes."""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ray_gym.cli import (
    configs,
    data,
    doctor,
    export,
    health,
    model,
    report,
    runs,
    score,
    serve,
    stats,
    track,
    view,
    weights,
)
from ray_gym.cli.output import (
    DataTable,
    drop_unwritten,
    keep_stdout,
    make_console,
    paged,
    prepare_stdout,
    print_others_safely,
    say,
)
from ray_gym.errors import RunFailed, UserError, remedy_of
from ray_gym.hosting.import_paths import hidden_modules
from ray_gym.installed.configs import find_config
from ray_gym.installed.version import describe_version
from ray_gym.logs import is_json, leave_out_of_ray

logger = logging.getLogger(__name__)

INTERRUPTED = 130
UsageError: Any = typer.BadParameter.__base__
"""Typer's error for a wrong option, argument or command, which has no public name of its own."""

app = typer.Typer(
    name="ray-gym",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Multi-turn rollouts on Ray: the policy talks to a user model, both call tools, every episode is scored and "
    "written as one row of Parquet with its exact tokens.",
)


def _print_version(asked: bool) -> None:
    if asked:
        say(f"ray-gym {describe_version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Reads the options that come before a command."""


def rollout(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG", help="A run config (YAML), or a name that `ray-gym configs` lists.", show_default=False
        ),
    ] = None,
    overrides: configs.Overrides = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Resume the run of this directory: a path, or a URI like s3://...")
    ] = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for GPUs that the cluster does not have yet, and for CPUs that others hold."),
    ] = False,
    log: serve.Log = None,
    wait_deadline: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="Give up after so many seconds of either; needs `--wait`."),
    ] = None,
) -> None:
    """Play the episodes of a config and write them to a run directory.

    Uses the Ray cluster that is running (`RAY_ADDRESS`, or one on this machine), else starts a local one for the run.
    Ctrl-C stops it and keeps all finished episodes; `--resume` plays the others.

    Examples:

        ray-gym rollout tic_tac_toe tasks.limit=8 participants.policy.sampling.temperature=0.7

        ray-gym rollout --resume runs/tic_tac_toe-20260101-120000-1

        ray-gym rollout --resume s3://bucket/runs/mine mine.yaml fanout.workers=8
    """
    from ray_gym.cli.closing_lines import print_summary, require_completed
    from ray_gym.run import submit

    console = make_console()

    def show_end(submitted: submit.Submitted) -> None:
        if is_json():
            logger.info("the run has ended", extra={"data": {"location": submitted.location, **submitted.summary}})
        else:
            print_summary(console, submitted.location, submitted.summary)
            health.print_line(console, submitted.location)

    if wait_deadline is not None and not wait:
        raise UserError("--wait-deadline: goes with --wait, which is not given")
    given = [*(overrides or []), *serve.as_override(log)]
    how: Any = {"show": show_end, "wait": wait, "wait_deadline_s": wait_deadline}
    if resume is not None:
        again, given = _config_and_overrides(config, given)
        submitted = submit.resume(resume, given, console, config_path=again, **how)
    elif config:
        submitted = submit.submit(find_config(Path(config)), given, console, **how)
    else:
        raise UserError("give a CONFIG to play, or --resume RUN to resume one")
    if submitted.summary["failure"]:
        raise RunFailed(submitted.summary["failure"])
    if submitted.interrupted:
        raise typer.Exit(1)
    require_completed(submitted.summary)


def show(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run directory: a path, or a URI like s3://... Without it, the newest run of the folder `runs`.",
            show_default=False,
        ),
    ] = None,
    episode: Annotated[str | None, typer.Argument(metavar="[EPISODE]", help="An episode id, or how it begins.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Show only the episodes that failed, and why.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show all episodes instead of the first 50.")] = False,
    reward: Annotated[
        str | None, typer.Option(metavar="BOUND", help="Show only episodes with such a reward, e.g. '<0.5'.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show the last episodes, and each new one until the run has ended.")
    ] = False,
) -> None:
    """Show a run's episodes, or one of them as a conversation with its messages, tool calls, results and score.

    Examples:

        ray-gym show

        ray-gym show runs/mine --reward '<0.5' --all

        ray-gym show --follow --failed
    """
    from ray_gym.cli.follow import follow_run
    from ray_gym.cli.show import show_run
    from ray_gym.cli.show_episode import show_episode
    from ray_gym.load import load
    from ray_gym.record.bounds import read_bound

    bound = read_bound(reward, "--reward") if reward is not None else None
    console, found = make_console(), load(run if run is not None else runs.newest_in("runs"))
    if run is None:
        say(f"the newest run: {found.location}")
    if follow:
        if episode is not None or everything:
            raise UserError("--follow: shows a run as it goes on; leave EPISODE and --all out")
        follow_run(console, found.storage, failed=failed, reward=bound)
    elif episode is None:
        with paged(console) if everything and console.is_terminal else nullcontext():
            show_run(console, found, failed=failed, everything=everything, reward=bound)
    else:
        show_episode(console, found, episode)


def envs() -> None:
    """List the environments that a config can name."""
    from ray_gym.plugins import ENVIRONMENT, left_out, load_for_listing, names

    table = DataTable("id", "pattern", "participants", "tools", "scoring", "what it is")
    for name in names(ENVIRONMENT):
        environment = load_for_listing(name)
        summary = (environment.__doc__ or "").strip().splitlines()
        tools = ", ".join([*environment.tools, *(["the task's own"] if environment.brings_tools() else [])]) or "-"
        speakers = ", ".join([*environment.participants, *environment.auxiliary])
        table.add_data(name, environment.pattern, speakers, tools, environment.scoring, summary[0] if summary else "")
    make_console().print(table)
    for module, reason in left_out(ENVIRONMENT).items():
        say(f"left out: {module}, which can't be imported: {reason}", err=True)


def check_env(
    environment: Annotated[
        str, typer.Argument(metavar="ID", help="An environment: see `ray-gym envs`; or package.module:Class.")
    ],
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the environment; may be repeated.")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks that are played.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the tasks, the players and the environment.")] = 0,
    tasks_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the tasks from a .jsonl or .parquet file.")
    ] = None,
) -> None:
    """Play an environment in this process, with scripted players that behave well or badly, and report its faults.

    Needs no model and no Ray. Tools with effects are really called. Exits with 1 if a check failed.

    Examples:

        ray-gym check-env tic_tac_toe

        ray-gym check-env calendar --option mode=live --tasks 50
    """
    from ray_gym.check.all_checks import CheckReport, carry_out
    from ray_gym.check.command import read_subject
    from ray_gym.check.finding import Finding
    from ray_gym.check.hang import HangWatch
    from ray_gym.check.other_process import OtherProcess
    from ray_gym.check.report import print_hang, print_report

    console = make_console()
    subject = read_subject(environment, option or [], tasks, seed, tasks_file)
    with console.status("playing") as status, OtherProcess() as other_process:

        def tell(hang: Finding) -> None:
            other_process.end()
            status.stop()
            print_hang(console, hang)

        async def check() -> CheckReport:
            with HangWatch(subject.make(), tell):
                return await carry_out(subject, other_process, status.update)

        report = asyncio.run(check())
    print_report(console, report)
    if report.failed:
        raise typer.Exit(1)


def new_env(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the package, e.g. `shop_stock`.", show_default=False)
    ],
    folder: Annotated[
        Path,
        typer.Option(
            "--dir", metavar="FOLDER", help="Folder in which the new folder NAME is made.", show_default="here"
        ),
    ] = Path(),
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern", metavar="PATTERN", help="Pattern of its episodes: single-step, multi-step or multi-turn."
        ),
    ] = "multi-step",
) -> None:
    """Write a new environment, with tests and a config that plays at once; see `docs/authoring.md`."""
    from ray_gym.scaffold import write_environment

    written = write_environment(name, folder, pattern)
    say(f"{written.folder}: a {pattern} environment")
    for file in written.files:
        say(f"  {file}")
    say(f"try it:\n  cd {shlex.quote(str(written.folder))}\n  python -m pytest\n  ray-gym rollout config.yaml")


def _config_and_overrides(first: str | None, overrides: list[str]) -> tuple[Path | None, list[str]]:
    """Returns the path of the config, or None if it was left out, and the overrides. With `--resume` the config may be
    left out, so the first argument may be an override. Errors: UserError if the first argument is no override, file or
    name of a config.
    """
    if first is None:
        return None, overrides
    if Path(first).is_file() or "=" not in first:
        return find_config(Path(first)), overrides
    return None, [first, *overrides]


_COMMANDS: dict[str, Callable[..., None]] = {
    "rollout": rollout,
    "show": show,
    "health": health.health,
    "stats": stats.stats,
    "view": view.view,
    "report": report.report,
    "export": export.export,
    "track": track.track,
    "score": score.score,
    "serve": serve.serve,
    "configs": configs.configs,
    "config": configs.config,
    "envs": envs,
    "check-env": check_env,
    "new-env": new_env,
    "doctor": doctor.doctor,
    "weights": weights.weights,
    "dashboards": configs.dashboards,
    "model": model.model,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
app.add_typer(data.app, name="data")
app.add_typer(runs.app, name="runs")
for _group in (app, data.app, runs.app):
    for _registered in _group.registered_commands:
        if _registered.callback is not None:
            _registered.callback = keep_stdout(_registered.callback)


def main() -> None:
    try:
        prepare_stdout()
        print_others_safely()
        leave_out_of_ray()
        _import_from_here()
        code = app(prog_name="ray-gym", standalone_mode=False) or 0
        if code == INTERRUPTED:  # typer turns KeyboardInterrupt into it
            raise KeyboardInterrupt
        sys.exit(code)
    except UsageError as error:
        _fail(_told(error), 2)
    except UserError as error:
        _fail(str(error), 2)
    except RunFailed as error:
        _fail(str(error), 1)
    except OSError as error:
        drop_unwritten()
        _fail(
            f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}{remedy_of(error, 'try again')}",
            1,
        )
    except KeyboardInterrupt:
        _fail("interrupted", 1)


def _import_from_here() -> None:
    """Lets this process import the environments and players of the working directory, as `python -m` does; after all
    others if a module there hides one that the command needs.
    """
    here = Path.cwd()
    others = [path for path in sys.path if path not in ("", str(here))]
    if hidden_modules(here):
        sys.path[:] = [*others, str(here)]
    elif len(others) == len(sys.path):
        sys.path.insert(0, str(here))


def _told(error: Any) -> str:
    """Returns the message of a wrong option, argument or command as one line, with the command that helps; "" if a
    command without arguments has printed its help.
    """
    command = error.ctx.command_path if error.ctx is not None else "ray-gym"
    return error.format_message() and f"{' '.join(error.format_message().split()).rstrip('.')}; see `{command} --help`"


def _fail(message: str, code: int) -> None:
    if is_json():
        logger.error(message)
    elif message:
        say(f"ray-gym: {message}", err=True)
    sys.exit(code)
