"""What a run directory lies on. Names are relative to it: `run.yaml`, `episodes/part-0.parquet`.

Reading is the same everywhere (`pyarrow.fs`); how something is written, staged and made part of the run is not, so that is what the two
kinds (`posix_storage`, `object_storage`) bring. A storage is pickled to the workers, which only stage; all else is the driver's.
All of it blocks: call it off the event loop.
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
STAGING = ".staging"
READERS = 8
"""Files read at once: an object store answers each after tens of milliseconds."""


@dataclass(frozen=True)
class Storage(ABC):
    location: str
    """The run directory as a user writes it: a path, or a URI."""
    filesystem: FileSystem
    root: str
    """The run directory as `filesystem` knows it."""
    staging: str = STAGING
    """Where this epoch's files are staged: outside of what anyone globs."""

    @property
    def name(self) -> str:
        return self.root.rpartition("/")[2]

    # ---- reading ----

    def at(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str = "") -> bool:
        return bool(self.filesystem.get_file_info(self.at(name)).type != FileType.NotFound)

    def read(self, name: str) -> bytes:
        """Errors: FileNotFoundError, OSError."""
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            return bytes(stream.read())

    def names(self, folder: str) -> list[str]:
        """The files of a folder, sorted."""
        found = self.filesystem.get_file_info(FileSelector(self.at(folder), allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == FileType.File)

    def opened(self, name: str) -> AbstractContextManager[RowsFile]:
        """Open a committed file. Errors: those of `open_rows`."""
        return open_rows(self.filesystem, self.at(f"{EPISODES}/{name}"))

    def tables(self, columns: Sequence[str] = SCHEMA.names) -> Iterator[pa.Table]:
        """Read the committed files, in the order of their names, as tables under `SCHEMA`. Errors: those of `open_rows`."""

        def read(name: str) -> pa.Table:
            with self.opened(name) as file:
                return file.table(columns)

        yield from self._of_each(read)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read as `tables` does, few `rows` at a time."""
        for name in self.committed():
            with self.opened(name) as file:
                yield from file.batches(columns, rows)

    def count(self) -> int:
        """Count the committed rows; only the files' footers are read. Errors: those of `open_rows`."""

        def rows(name: str) -> int:
            with self.opened(name) as file:
                return len(file)

        return sum(self._of_each(rows))

    def committed(self) -> list[str]:
        """List the names of the committed files, sorted."""
        return [name for name in self.names(EPISODES) if name.endswith(".parquet")]

    def _of_each(self, read: Callable[[str], Read]) -> Iterator[Read]:
        with ThreadPoolExecutor(READERS) as pool:
            yield from pool.map(read, self.committed())

    # ---- writing ----

    @abstractmethod
    def create(self) -> None:
        """Make the directory. Errors: FileExistsError if there is something, OSError."""

    @abstractmethod
    def claim(self) -> Owner:
        """Become the run's one driver, under the next epoch. Errors: UserError while another one lives; OSError."""

    @abstractmethod
    def staged_under(self, epoch: int) -> Storage:
        """This storage with an empty staging folder of the epoch's own; what others staged is gone."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Whole or not at all, and there to stay when this returns; an older file is replaced. Errors: OSError."""

    @abstractmethod
    def stage(self, name: str, table: pa.Table) -> str:
        """Write rows outside the glob; the driver publishes the file by name. Errors: OSError."""

    @abstractmethod
    def publish(self, staged: str, name: str) -> None:
        """A staged file becomes part of the run, at once, under its name there. Errors: OSError, also if it isn't staged (any more)."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Also if it isn't there. Errors: OSError."""

    @abstractmethod
    def delete_folder(self, name: str) -> None:
        """With all that is in it; also if it isn't there. Errors: OSError."""

    @abstractmethod
    def remove(self) -> None:
        """Take the whole run directory back, and the folders that were made for it. Errors: OSError."""
