"""A run's directory: `run.yaml`, `episodes/*.parquet`, `summary.json`.

Rows are staged in `.staging/`, outside what anyone globs, and get into `episodes/` by one rename of a file that is already on the disk:
whoever reads `episodes/*.parquet` at any moment sees complete rows, each episode once.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ray_gym.config import RunConfig
from ray_gym.config_file import as_yaml
from ray_gym.errors import UserError
from ray_gym.run.receipt import COLUMNS, Receipt, receipt_of


@dataclass
class RunDirectory:
    path: Path
    made: list[Path] = field(default_factory=list, repr=False)
    _lock: IO[str] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def episodes(self) -> Path:
        return self.path / "episodes"

    @property
    def staging(self) -> Path:
        return self.path / ".staging"

    @property
    def config_file(self) -> Path:
        return self.path / "run.yaml"

    def lock(self) -> None:
        """One driver a run directory, as long as this process lives. Errors: UserError."""
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UserError(f"{self.path}: another driver is writing this run; wait for it, or stop it first") from None

    def commit(self, staged: str) -> None:
        """Make a staged file part of the run."""
        (self.staging / staged).rename(self.episodes / staged)
        _sync_directory(self.episodes)

    def refuse(self, staged: str) -> None:
        (self.staging / staged).unlink(missing_ok=True)

    def committed(self) -> Iterator[Receipt]:
        """The episodes that are part of the run."""
        for file in sorted(self.episodes.glob("*.parquet")):
            for row in pq.read_table(file, columns=list(COLUMNS)).to_pylist():
                yield receipt_of(row)

    def write_config(self, config: RunConfig) -> None:
        self.config_file.write_text(as_yaml(config.model_dump(mode="json")))

    def write_summary(self, summary: dict[str, Any]) -> None:
        scratch = self.path / ".summary.json"
        scratch.write_text(json.dumps(summary, indent=2) + "\n")
        scratch.rename(self.path / "summary.json")

    def remove(self) -> None:
        """Take back a directory in which nothing was played, and the folders that were made for it."""
        if any(self.episodes.glob("*.parquet")):
            return
        shutil.rmtree(self.path)
        for parent in self.made[1:]:
            if any(parent.iterdir()):
                break
            parent.rmdir()

    def close(self) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()


def output_root(config: RunConfig) -> Path:
    """Errors: UserError for a relative directory under a submitted job, whose working directory is thrown away."""
    root = Path(config.output.dir).expanduser()
    if not root.is_absolute() and under_submitted_job():
        raise UserError(
            f"output.dir: {root} is relative, and this is a submitted job: its working directory goes away with it. "
            "Give a path that all nodes share, e.g. output.dir=/shared/runs"
        )
    return root.absolute()


def under_submitted_job() -> bool:
    """Whether `ray job submit` started this process (Ray sets this variable for the entrypoint)."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ


def plan_directory(config: RunConfig, config_path: Path) -> RunDirectory:
    """Where a new run will be; nothing is written yet. Errors: UserError if the name is taken."""
    root = output_root(config)
    name = config.run.name or f"{config_path.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    if (root / name).exists():
        raise _taken(root, name)
    return RunDirectory(root / name)


def create(directory: RunDirectory) -> None:
    """Make it. Errors: UserError if another run took the name meanwhile, or nothing can be written there."""
    root, name = directory.path.parent, directory.name
    directory.made = [path for path in (directory.path, *directory.path.parents) if not path.exists()]
    try:
        directory.path.mkdir(parents=True)
        directory.episodes.mkdir()
        directory.staging.mkdir()
    except FileExistsError:
        raise _taken(root, name) from None
    except OSError as error:
        raise UserError(f"output.dir: can't write in {root}: {error.strerror or error}") from None
    directory.lock()


def _taken(root: Path, name: str) -> UserError:
    resume = f"go on with it by `ray-gym rollout --resume {root / name}`"
    return UserError(f"run.name: there is a run {name!r} in {root} already; {resume}, or choose another name")


def reopen(path: Path) -> RunDirectory:
    """The directory of a run that is to be gone on with. Errors: UserError."""
    directory = RunDirectory(path.expanduser().absolute())
    if not directory.config_file.is_file():
        raise UserError(f"--resume: {path} is no run directory (it has no run.yaml)")
    directory.lock()
    directory.episodes.mkdir(exist_ok=True)
    directory.staging.mkdir(exist_ok=True)
    for stale in directory.staging.glob("*"):
        stale.unlink()
    return directory


def stage(staging: Path, name: str, table: pa.Table) -> str:
    """Write rows outside the glob and onto the disk; the driver commits the file by name."""
    with (staging / name).open("wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    return name


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
