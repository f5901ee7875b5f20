"""Finds the run that is scored again, and makes the directory of the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ray_gym.config.interpolations import errors_unfilled
from ray_gym.config.sections import RunConfig, RunSection
from ray_gym.errors import UserError
from ray_gym.hosting.import_paths import import_from
from ray_gym.rescoring.changes import Change, change_of
from ray_gym.rescoring.rescore import Counts, OpenModels, Rescoring
from ray_gym.run.directory.directory import CONFIG, STREAM, RunDirectory, create
from ray_gym.run.directory.location import absolute, parent_of, storage_at


@dataclass(frozen=True, slots=True)
class NewRun:
    """Describes a run that was made by scoring another one again."""

    location: str
    """Path or URI of its directory."""
    summary: dict[str, Any]
    """Content of its summary.json."""
    counts: Counts


def score_run(
    run: str,
    out: str,
    overrides: Sequence[str],
    open_models: Callable[[Change, str], OpenModels],
    *,
    only_failed: bool = False,
    command: Sequence[str] = (),
) -> NewRun:
    """Scores the episodes of a recorded run again, and writes them as a new run. If it fails, there is no new run. Blocks.

    run, out: locations of the two. overrides: changes of the run's config, as key=value. open_models: makes the function
    that brings the judges' models up, from the config's change and the name of the new run. only_failed: whether only
    episodes that failed by a judge are scored again. command: command line, for the summary.

    Errors: UserError for a run that can't be read or has no config, for a place that is taken, for a key that must not
    change, and for an episode that can't be played again; RunFailed if a judge's model does not come up; OSError.
    """
    source = _find(run)
    if absolute(out).startswith(f"{absolute(run).rstrip('/')}/"):
        raise UserError(f"--out: {out} is in the run {run} itself, and would go with it; give a place beside it")
    began = source.read_fingerprint()
    if began is not None and began.folder and Path(began.folder).is_dir():
        import_from(Path(began.folder))
    change = change_of(_config_text(source), f"{source.location}/{CONFIG}", overrides)
    _refuse_outside(change)
    with errors_unfilled(change.config.filled_in), _new_directory(out, change.config) as target:
        if began is not None:
            target.write_fingerprint(replace(began, scored_from=source.location))
        target.write_config(_named(change.config, target))
        planned = began.episodes if began is not None and not source.storage.exists(STREAM) else None
        rescoring = Rescoring(source, target, change, open_models(change, target.name), only_failed, planned)
        summary = {**rescoring.carry_out(), "command": list(command)}
        target.write_summary(summary)
    return NewRun(target.location, summary, rescoring.counts)


def _find(run: str) -> RunDirectory:
    """Returns the directory of the recorded run. Errors: UserError if there is none, it has no config, or is being
    played.
    """
    source = RunDirectory(storage_at(run))
    try:
        there, has_config = source.storage.exists(), source.storage.exists(CONFIG)
        is_live = has_config and source.storage.is_owned()
    except OSError as error:
        raise UserError(f"{run} can't be read: {error.strerror or error}") from None
    if not there:
        raise UserError(f"{run}: there is no such run")
    if not has_config:
        raise UserError(f"{run} has no {CONFIG}, which says how its episodes were scored")
    if is_live:
        raise UserError(f"{run} is being played; score it again when it has ended")
    return source


def _config_text(source: RunDirectory) -> str:
    try:
        return source.storage.read(CONFIG).decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{source.location}/{CONFIG}: this is no text in UTF-8: {error}") from None


def _refuse_outside(change: Change) -> None:
    """Refuses an environment whose state lies outside of the process. Errors: UserError."""
    if type(change.environment).opens_outside:
        raise UserError(
            f"environment.id: {change.config.environment.id} keeps its sessions outside of this process (on a server, say), so "
            "its episodes can't be played again"
        )
    if change.environment.uses_sandbox:
        raise UserError(
            f"environment.id: {change.config.environment.id} keeps files in sandboxes, which are gone, so its episodes can't "
            "be played again"
        )


@contextmanager
def _new_directory(out: str, config: RunConfig) -> Iterator[RunDirectory]:
    """Makes and opens the directory of the new run while the block runs. After an error it is removed, unless episodes
    are committed. Errors: UserError if there is something already, or nothing can be written there.
    """
    location = absolute(out)
    target = RunDirectory(storage_at(location), config.output.model_copy(update={"durability": "off"}))
    try:
        taken = target.storage.exists()
    except OSError as error:
        raise UserError(f"-o: can't look into {parent_of(location)}: {error.strerror or error}") from None
    if taken:
        raise UserError(f"-o: {out} is there already; choose another name")
    try:
        create(target)
    except UserError as error:
        raise UserError(f"-o: {str(error).removeprefix('output.dir: ')}") from None
    try:
        yield target
    except BaseException:
        target.remove()
        raise
    finally:
        target.close()


def _named(config: RunConfig, target: RunDirectory) -> RunConfig:
    """Returns the config with the name and the folder of the new run."""
    run: RunSection = config.run.model_copy(update={"name": target.name})
    output = config.output.model_copy(update={"dir": parent_of(target.location)})
    return config.with_sections({}, run=run, output=output)
