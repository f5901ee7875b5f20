"""Describes a run's directory: `run.yaml`, `plan.json`, `episodes/*.parquet`, `summary.json`, on a filesystem or an
object store.

Rows are staged in `.staging/`, outside of the pattern that readers use, and get into `episodes/` in one step (see
`posix_storage`, `object_storage`): a reader of `episodes/*.parquet` sees complete rows at any moment, each episode
once. One driver writes the directory (see `owner`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_gym.config.file import as_yaml
from ray_gym.config.sections import OutputSection, RunConfig
from ray_gym.errors import RESUME, RunFailed, UserError, remedy_of, why_unwritten
from ray_gym.messages import is_blank
from ray_gym.paths import refuse_variable
from ray_gym.run.directory.commit_order import CommitOrder
from ray_gym.run.directory.location import (
    absolute,
    child_of,
    is_relative,
    is_uri,
    parent_of,
    shell_quoted,
    storage_at,
)
from ray_gym.run.directory.nearby import nearby_runs
from ray_gym.run.directory.ownership import Owner
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.directory.receipt import COLUMNS, Receipt, receipt_of
from ray_gym.run.directory.run_config import read_run_config
from ray_gym.run.directory.storage import SUMMARY, Storage
from ray_gym.run.fingerprint import Fingerprint

CONFIG, PLAN, JOURNAL, STREAM = "run.yaml", "plan.json", "journal", "stream.json"
AGAIN = "start again"


@dataclass
class RunDirectory:
    """Reads the directory of a run and, once it is open, writes it. The methods block; properties such as `name` and
    `location` don't.
    """

    storage: Storage
    """Filesystem or object store that holds the directory."""
    output: OutputSection = field(default_factory=OutputSection)
    """Section `output` of the run's config."""
    owner: Owner | None = field(default=None, repr=False)
    """Claim to be the directory's one writer; None before the directory is opened, and after it is removed."""
    order: CommitOrder = field(default_factory=CommitOrder, repr=False)
    """Numbers of the commits."""

    @property
    def name(self) -> str:
        """Returns the name of the run."""
        return self.storage.name

    @property
    def location(self) -> str:
        """Returns the location of the directory: an absolute path, or a URI."""
        return self.storage.location

    @property
    def path(self) -> Path:
        """Returns the path of the directory. Errors: TypeError for a run on an object store, which has only a
        `location`.
        """
        if not isinstance(self.storage, PosixStorage):
            raise TypeError(f"{self.location} is not on a filesystem")
        return self.storage.path

    @property
    def journal(self) -> Path:
        """Returns the folder of the run's journals, which is always on a filesystem: a folder with the run's name in
        `output.journal_dir` or, if that is not set, the folder `journal` of the run directory. It may not exist.

        Errors: UserError for a run on an object store if `output.journal_dir` is not set.
        """
        if self.output.journal_dir is not None:
            return Path(self.output.journal_dir) / self.name
        if isinstance(self.storage, PosixStorage):
            return self.storage.path / JOURNAL
        raise UserError(
            f"output.journal_dir: {self.location} is on an object store, and journals need a filesystem: set output.journal_dir to a "
            "folder that all nodes share, e.g. output.journal_dir=/shared/journals, or set output.durability=off"
        )

    @property
    def keeps_journal(self) -> bool:
        """Says whether the run keeps journals: `output.durability` is not "off"."""
        return self.output.durability != "off"

    @property
    def config_file(self) -> Path:
        """Returns the path of the run's config, for messages and as the start of relative paths in it. For a run on an
        object store it is the relative path NAME/run.yaml, where there is no file.
        """
        return self.path / CONFIG if isinstance(self.storage, PosixStorage) else Path(self.name) / CONFIG

    @property
    def epoch(self) -> int:
        """Returns the number of this driver among the drivers that this run has had, from 1. Errors: RunFailed if the
        directory was not opened.
        """
        return self._owner().epoch

    # ---- reading ----

    def committed(self) -> Iterator[Receipt]:
        """Yields the receipts of all committed episodes. Errors: OSError; pa.ArrowException for a damaged file;
        UserError for a file of an unknown version.
        """
        for table in self.storage.tables(COLUMNS):
            for row in table.to_pylist():
                yield receipt_of(row)

    def read_config(self) -> RunConfig:
        """Reads the run's config. Errors: UserError if it is damaged or edited into an invalid one; FileNotFoundError;
        OSError.
        """
        return read_run_config(self.storage.read(CONFIG), str(self.config_file))

    def read_fingerprint(self) -> Fingerprint | None:
        """Reads the fingerprint that the run began with; returns None if it has none. Errors: OSError; UserError if the
        file is damaged.
        """
        try:
            return Fingerprint(**json.loads(self.storage.read(PLAN)))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            place = f"{self.location}/{PLAN}"
            raise UserError(f"{place}: this file is damaged: {error}; put a copy of it in its place") from None

    # ---- writing, by the one driver ----

    def take_greeting(self, hello: str) -> bool:
        """Deletes the probe file `hello` of a worker from the staging folder, and returns True if it was there. Errors:
        OSError.
        """
        name = f"{self.storage.staging}/{hello}"
        there = self.storage.exists(name)
        self.storage.delete(name)
        return there

    def commit(self, staged: str) -> str:
        """Makes a staged file part of the run, and returns its new name. May be called in several threads at once.

        Errors: RunFailed if it can't be published, if another driver took over, or if the directory was not opened.
        """
        try:
            with self.order as order:
                self._owner().check()
                return order.publish(self.storage, staged)
        except OSError as error:
            raise RunFailed(f"{self.location}: {staged} can't be made part of the run: {_reason(error)}") from error

    def refuse(self, staged: str) -> None:
        """Deletes a staged file whose rows don't count. If it can't be deleted now, no error is raised: it is deleted
        when the run is closed or resumed.
        """
        with contextlib.suppress(OSError):
            self.storage.delete(f"{self.storage.staging}/{staged}")

    def write_config(self, config: RunConfig) -> None:
        """Writes the run's config to run.yaml. A value that came from ${...} is written as ${...} again; the folder of
        journals is the one of this directory's `output`. Errors: RunFailed if the file can't be written, if another
        driver took over, or if the directory was not opened.
        """
        kept = config.as_written()
        kept["output"]["journal_dir"] = self.output.journal_dir  # absolute: the run can be resumed from anywhere
        self.write(CONFIG, as_yaml(kept), AGAIN)

    def write_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Writes the fingerprint of the run's plan to plan.json. Errors: RunFailed if it can't be written, if another
        driver took over, or if the directory was not opened.
        """
        self.write(PLAN, fingerprint.as_json(), AGAIN)

    def write_summary(self, summary: dict[str, Any], then: str = AGAIN) -> None:
        """Writes summary.json. `then`: see `write`. Errors: RunFailed if it can't be written, if another driver took
        over, or if the directory was not opened.
        """
        self.write(SUMMARY, json.dumps(summary, indent=2) + "\n", then)

    def remove(self) -> None:
        """Gives up and deletes the open directory, the folders that were made for it, and the run's journals. Does
        nothing if an episode is committed.

        Errors: RunFailed if another driver took over, or the directory was not opened; OSError; pa.ArrowException or
        UserError if a committed file can't be read.
        """
        if any(self.committed()):
            return
        self._owner().check()
        self._owner().withdraw()
        self.owner = None
        self.storage.remove()
        if self.keeps_journal:
            shutil.rmtree(self.journal, ignore_errors=True)

    def close(self) -> None:
        """Gives up the directory, so that another driver may resume the run at once, and deletes what is staged, unless
        another driver took over. Does nothing if the directory was never opened. Errors of the deletion are ignored.
        """
        if self.owner is None:
            return
        with contextlib.suppress(OSError, RunFailed):
            self.owner.check()
            self.storage.delete_folder(self.storage.staging.partition("/")[0])
        self.owner.release()

    def write(self, name: str, text: str, then: str = RESUME) -> None:
        """Writes a file of the open directory, whole or not at all. `then`: what the user does once a full disk has space
        again. Errors: RunFailed if the file can't be written, if another driver took over, or if the directory was not
        opened.
        """
        try:
            self._owner().check()
            self.storage.write(name, text.encode())
        except OSError as error:
            raise RunFailed(
                f"{self.location}: {name} can't be written: {_reason(error)}{remedy_of(error, then)}"
            ) from error

    def _owner(self) -> Owner:
        if self.owner is None:
            raise RunFailed(f"{self.location} is not open")
        return self.owner

    def open(self) -> None:
        """Claims the directory for this driver, under the next epoch, and deletes files that older drivers have staged.
        Errors: UserError while another driver owns the run; OSError.
        """
        self.owner = self.storage.claim()
        try:
            self.storage = self.storage.begin_epoch(self.owner.epoch)
            self.order.go_on(self.storage)
        except BaseException:
            self.owner.release()
            raise

    def make_journal(self) -> None:
        """Makes the folder of journals, if the run keeps any. Errors: UserError if there is no place for it, or it
        can't be made.
        """
        if not self.keeps_journal:
            return
        try:
            self.journal.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"output.journal_dir: can't make {self.journal}: {why_unwritten(self.journal, error)}{remedy_of(error, AGAIN)}"
            ) from None


def output_root(config: RunConfig) -> str:
    """Returns the folder of all runs, as an absolute path or a URI. Errors: UserError for a relative folder in a
    submitted job, whose working directory is deleted later.
    """
    _check_place("dir", config.output.dir, "/shared/runs")
    return absolute(config.output.dir)


def check_places(output: OutputSection) -> None:
    """Checks that `output.dir` and `output.journal_dir` are not relative in a submitted job, whose working directory is
    deleted later. Errors: UserError if one is.
    """
    _check_place("dir", output.dir, "/shared/runs")
    _with_absolute_journals(output)


def under_submitted_job() -> bool:
    """Says whether `ray job submit` started this process. Ray sets this variable for the job's entrypoint."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ


def plan_directory(config: RunConfig, config_path: Path) -> RunDirectory:
    """Returns the directory for a new run, and writes nothing yet. Without `run.name` the name is made from the
    config's name, the time and the number of this process.

    Errors: UserError if the name is taken, the folder of runs can't be read, a folder is relative in a submitted job,
    or there is no place for journals.
    """
    root = output_root(config)
    name = config.run.name or f"{config_path.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    directory = RunDirectory(_open_storage(child_of(root, name), "output.dir"), _with_absolute_journals(config.output))
    if directory.keeps_journal and directory.journal.exists() and config.output.journal_dir is not None:
        raise UserError(f"output.journal_dir: {directory.journal} is another run's; choose another run.name or folder")
    try:
        taken = directory.storage.exists()
    except OSError as error:
        raise UserError(f"output.dir: can't look into {root}: {_reason(error)}") from None
    if taken:
        raise _name_is_taken(directory)
    return directory


def create(directory: RunDirectory) -> None:
    """Creates the directory, opens it, and makes the folder of journals. If one of these can't be made, the directory is
    removed again. Errors: UserError if another run has taken the name, if another driver owns the directory, or if
    nothing can be written there.
    """
    try:
        directory.storage.create()
        directory.open()
    except OSError as error:
        if isinstance(error, FileExistsError) and directory.storage.exists():
            raise _name_is_taken(directory) from None
        if isinstance(directory.storage, PosixStorage):  # in an object store, another driver may have made it
            with contextlib.suppress(OSError):
                directory.storage.remove()
        path = None if is_uri(directory.location) else Path(directory.location)
        told = f"{why_unwritten(path, error) if path else _reason(error)}{remedy_of(error, AGAIN)}"
        raise UserError(f"output.dir: can't write in {parent_of(directory.location)}: {told}") from None
    try:
        directory.make_journal()
    except UserError:
        directory.remove()
        raise


def begin(directory: RunDirectory, config: RunConfig, fingerprint: Fingerprint) -> None:
    """Creates the directory of a run with its first files. If one of these can't be written, the directory is removed
    again. Errors: as of `create`; RunFailed if a file can't be written.
    """
    create(directory)
    try:
        directory.write_fingerprint(fingerprint)
        directory.write_config(config)
    except BaseException:
        directory.remove()
        raise


def find_run(location: str | Path) -> RunDirectory:
    """Returns the directory of an existing run, without opening it for writing. Errors: UserError if it can't be read,
    or has no run.yaml.
    """
    directory = RunDirectory(_open_storage(str(location), "--resume"))
    try:
        there = directory.storage.exists(CONFIG)
    except OSError as error:
        raise UserError(f"--resume: {location} can't be read: {_reason(error)}") from None
    if not there:
        raise UserError(f"--resume: {location} is no run directory (it has no {CONFIG}){nearby_runs(str(location))}")
    return directory


def reopen(location: str | Path, output: OutputSection | None = None) -> RunDirectory:
    """Opens the directory of a run that is resumed, makes the folder of its journals, and returns the directory.
    `output`: section to use instead of the one in the run's own config.

    Errors: UserError if there is no run, if its config is needed and invalid, if another driver writes it, if there is
    no place for journals, or if nothing can be written there; OSError if the config can't be read.
    """
    directory = find_run(location)
    directory.output = output or directory.read_config().output
    if directory.keeps_journal:
        _ = directory.journal  # a place for it is looked for before anything is written
    try:
        directory.open()
        directory.make_journal()
    except OSError as error:
        raise UserError(f"--resume: can't write in {location}: {_reason(error)}") from None
    except UserError:
        directory.close()
        raise
    return directory


def _open_storage(location: str, asked_by: str) -> Storage:
    try:
        return storage_at(location)
    except UserError as error:
        raise UserError(f"{asked_by}: {error}") from None


def _with_absolute_journals(output: OutputSection) -> OutputSection:
    """Returns the section with an absolute folder of journals; the same section if none is set. Errors: UserError for a
    relative one in a submitted job.
    """
    if output.journal_dir is None:
        return output
    _check_place("journal_dir", output.journal_dir, "/shared/journals")
    if is_uri(output.journal_dir):
        raise UserError(f"output.journal_dir: {output.journal_dir}: journals need a filesystem; name a folder")
    return output.model_copy(update={"journal_dir": absolute(output.journal_dir)})


def _check_place(key: str, location: str, example: str) -> None:
    """Checks a place of output as a config writes it. Errors: UserError for one that is misspelt (`$HOME/runs`, `s3:/b`),
    blank or no path at all, a `~` that stands for no folder, and a relative place in a submitted job.
    """
    if is_blank(location) or "\0" in location:
        raise UserError(f"output.{key}: {location!r} names no folder; name one, e.g. output.{key}={example}")
    try:
        refuse_variable(location)
        relative = is_relative(location)
    except UserError as error:
        raise UserError(f"output.{key}: {error}") from None
    if relative and under_submitted_job():
        raise UserError(
            f"output.{key}: {location} is relative, and this is a submitted job: its working directory goes away with it. "
            f"Give a path that all nodes share, e.g. output.{key}={example}"
        )


def _name_is_taken(directory: RunDirectory) -> UserError:
    resume = f"resume it by `ray-gym rollout --resume {shell_quoted(directory.location)}`"
    where = parent_of(directory.location)
    return UserError(
        f"run.name: there is a run {directory.name!r} in {where} already; {resume}, or choose another name"
    )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
