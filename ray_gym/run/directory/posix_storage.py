"""Keeps a run directory on a filesystem: rows are written outside of `episodes/`, and get there by one rename."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow.fs import LocalFileSystem

from ray_gym.journal.folder import flush_folder
from ray_gym.run.directory.owner import LOCK, FileOwner
from ray_gym.run.directory.parquet import write_rows
from ray_gym.run.directory.storage import EPISODES, STAGING, Storage


@dataclass(frozen=True)
class PosixStorage(Storage):
    """Keeps a run directory on a filesystem."""

    readers: ClassVar[int] = 2
    """Number of files that are read at once: more threads wait for Python's lock, and whoever asks meanwhile does, too."""

    made: list[Path] = field(default_factory=list, repr=False, compare=False)
    """Folders that `create` made, the innermost first."""

    @classmethod
    def of(cls, path: Path) -> PosixStorage:
        """Makes the storage of a directory, given by its absolute path. It need not exist yet."""
        return cls(str(path), LocalFileSystem(), str(path))

    @property
    def path(self) -> Path:
        """Returns the path of the directory."""
        return Path(self.root)

    def create(self) -> None:
        self.made.extend(path for path in (self.path, *self.path.parents) if not path.exists())
        self.path.mkdir(parents=True)
        (self.path / EPISODES).mkdir()

    def claim(self) -> FileOwner:
        return FileOwner.claim(self, self.path / LOCK)

    def is_owned(self) -> bool:
        return FileOwner.has(self.path / LOCK)

    def begin_epoch(self, epoch: int) -> PosixStorage:
        self.delete_folder(STAGING)
        (self.path / EPISODES).mkdir(exist_ok=True)
        theirs = replace(self, staging=f"{STAGING}/{epoch}")
        (self.path / theirs.staging).mkdir(parents=True)
        return theirs

    def write(self, name: str, data: bytes) -> None:
        final = self.path / name
        if final.parent != self.path:
            final.parent.mkdir(exist_ok=True)
        scratch = final.with_name(f".{final.name}.{os.getpid()}-{threading.get_ident()}.new")
        try:
            with scratch.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            scratch.rename(final)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        flush_folder(final.parent)

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        with (self.path / f".{name}.lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def stage(self, name: str, table: pa.Table) -> str:
        with (self.path / self.staging / name).open("wb") as file:
            write_rows(table, file)
            file.flush()
            os.fsync(file.fileno())
        return name

    def publish(self, staged: str, name: str) -> None:
        (self.path / self.staging / staged).rename(self.path / EPISODES / name)
        flush_folder(self.path / EPISODES)

    def delete(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def delete_folder(self, name: str) -> None:
        if (self.path / name).exists():
            shutil.rmtree(self.path / name)

    def remove(self) -> None:
        shutil.rmtree(self.path)
        for parent in self.made[1:]:
            if any(parent.iterdir()):
                break
            parent.rmdir()
