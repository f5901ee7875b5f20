"""Reads and writes a run directory. Names are relative to it: `run.yaml`, `episodes/part-0.parquet`.

Reading is the same everywhere (`pyarrow.fs`); writing, staging and publishing differ, so the two kinds
(`posix_storage`, `object_storage`) bring those. A storage is pickled to the workers, which only stage; all else is the
driver's. All methods block: call them off the event loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType

from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.parquet import RowsFile, open_rows

if TYPE_CHECKING:
    from ray_gym.run.directory.ownership import Owner

Read = TypeVar("Read")

EPISODES = "episodes"
SUMMARY = "summary.json"
STAGING = ".staging"
READERS = 8
"""Number of files read at once: an object store answers each after tens of milliseconds."""


@dataclass(frozen=True)
class Storage(ABC):
    location: str
    """The run directory as a user writes it: a path, or a URI."""
    filesystem: FileSystem
    root: str
    """The run directory as `filesystem` knows it."""
    staging: str = STAGING
    """Folder for this epoch's staged files, outside of the pattern that readers use."""

    @property
    def name(self) -> str:
        return self.root.rpartition("/")[2]

    # ---- reading ----

    def at(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str = "") -> bool:
        return bool(self.filesystem.get_file_info(self.at(name)).type != FileType.NotFound)

    def read(self, name: str) -> bytes:
        """Reads a file whole. Errors: FileNotFoundError, OSError."""
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            return bytes(stream.read())

    def names(self, folder: str) -> list[str]:
        """Returns the names of a folder's files, sorted."""
        found = self.filesystem.get_file_info(FileSelector(self.at(folder), allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == FileType.File)

    def open_committed(self, name: str) -> AbstractContextManager[RowsFile]:
        """Opens a committed file. Errors: those of `open_rows`."""
        return open_rows(self.filesystem, self.at(f"{EPISODES}/{name}"))

    def tables(self, columns: Sequence[str] = SCHEMA.names) -> Iterator[pa.Table]:
        """Reads the committed files, in the order of their names, as tables under `SCHEMA`. Errors: those of
        `open_rows`.
        """

        def read(name: str) -> pa.Table:
            with self.open_committed(name) as file:
                return file.table(columns)

        yield from self._of_each(read)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Reads as `tables` does, `rows` rows at a time."""
        for name in self.committed():
            with self.open_committed(name) as file:
                yield from file.batches(columns, rows)

    def count(self) -> int:
        """Counts the committed rows; only the files' footers are read. Errors: those of `open_rows`."""

        def rows(name: str) -> int:
            with self.open_committed(name) as file:
                return len(file)

        return sum(self._of_each(rows))

    def committed(self) -> list[str]:
        """Returns the names of the committed files, sorted."""
        return [name for name in self.names(EPISODES) if name.endswith(".parquet")]

    def _of_each(self, read: Callable[[str], Read]) -> Iterator[Read]:
        with ThreadPoolExecutor(READERS) as pool:
            yield from pool.map(read, self.committed())

    # ---- writing ----

    @abstractmethod
    def create(self) -> None:
        """Makes the directory. Errors: FileExistsError if there is something, OSError."""

    @abstractmethod
    def claim(self) -> Owner:
        """Becomes the run's one driver, under the next epoch. Errors: UserError while another one lives; OSError."""

    @abstractmethod
    def begin_epoch(self, epoch: int) -> Storage:
        """Returns this storage with an empty staging folder of the epoch's own; files that other epochs staged are
        deleted.
        """

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Writes a file whole or not at all; it is durable when this returns, and replaces an older one. Errors:
        OSError.
        """

    @abstractmethod
    def stage(self, name: str, table: pa.Table) -> str:
        """Writes rows to a staged file, which the driver publishes by its name. Errors: OSError."""

    @abstractmethod
    def publish(self, staged: str, name: str) -> None:
        """Makes a staged file part of the run, at once, under `name`. Errors: OSError, also if it isn't staged (any
        more).
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Deletes a file, if it is there. Errors: OSError."""

    @abstractmethod
    def delete_folder(self, name: str) -> None:
        """Deletes a folder with all that is in it, if it is there. Errors: OSError."""

    @abstractmethod
    def remove(self) -> None:
        """Deletes the whole run directory, and the folders that were made for it. Errors: OSError."""
