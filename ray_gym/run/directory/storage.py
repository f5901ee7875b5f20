"""Reads and writes a run directory. Names are relative to it: `run.yaml`, `episodes/part-0.parquet`.

Reading is the same everywhere (`pyarrow.fs`). Writing, staging and publishing differ between `posix_storage` and
`object_storage`. A storage is pickled to the workers, which only stage files; the driver does everything else. All
methods block, so they must be called off the event loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType

from ray_gym.errors import UserError
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.copies import without_copies
from ray_gym.run.directory.parquet import RowsFile, open_rows

if TYPE_CHECKING:
    from ray_gym.run.directory.ownership import Owner

Read = TypeVar("Read")

EPISODES = "episodes"
"""Folder of the committed files."""
SUMMARY = "summary.json"
"""Name of the run's summary."""
STAGING = ".staging"
"""Folder of staged files."""


@dataclass(frozen=True)
class Storage(ABC):
    """Reads and writes the files of one run directory."""

    readers: ClassVar[int] = 8
    """Number of files that are read at once. An object store takes tens of milliseconds to answer each."""
    location: str
    """Location of the run directory as a user writes it: a path, or a URI."""
    filesystem: FileSystem
    root: str
    """Path of the run directory in `filesystem`."""
    staging: str = STAGING
    """Folder of this epoch's staged files, outside of the pattern that readers use."""

    @property
    def name(self) -> str:
        """Returns the name of the run, which is that of its directory."""
        return self.root.rpartition("/")[2]

    # ---- reading ----

    def at(self, name: str) -> str:
        """Returns the path in `filesystem` of a file of the run directory; the directory's own path for an empty
        name.
        """
        return f"{self.root}/{name}" if name else self.root

    def exists(self, name: str = "") -> bool:
        """Says whether a file or folder of the run directory exists; the directory itself for an empty name. Errors:
        OSError.
        """
        return bool(self.filesystem.get_file_info(self.at(name)).type != FileType.NotFound)

    def read(self, name: str) -> bytes:
        """Returns the content of a file. Errors: FileNotFoundError, OSError."""
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            return bytes(stream.read())

    def names(self, folder: str) -> list[str]:
        """Returns the sorted names of a folder's files, without hidden ones (`.part-1.parquet.swp`), which are others';
        none if there is no such folder. Errors: UserError if it is a file; OSError.
        """
        try:
            found = self.filesystem.get_file_info(FileSelector(self.at(folder), allow_not_found=True))
        except NotADirectoryError:
            raise UserError(f"{self.at(folder)}: this is a file, where a run has a folder; move it away") from None
        names = (info.base_name for info in found if info.type == FileType.File)
        return sorted(name for name in names if not name.startswith("."))

    def open_committed(self, name: str) -> AbstractContextManager[RowsFile]:
        """Opens a committed file while a `with` block runs. Errors: OSError; pa.ArrowException for a damaged file;
        UserError for an unknown version.
        """
        return open_rows(self.filesystem, self.at(f"{EPISODES}/{name}"))

    def tables(self, columns: Sequence[str] = SCHEMA.names) -> Iterator[pa.Table]:
        """Yields a table for each committed file, in the order of their names, with the given columns of `SCHEMA`.
        Reads `readers` files at once. A column is given by its name, or by the path of a Parquet column within it
        (`samples.list.element.trainable`).

        Errors: OSError; pa.ArrowException for a damaged file or a column that it lacks; UserError for a file of an
        unknown version.
        """

        def read(name: str) -> pa.Table:
            with self.open_committed(name) as file:
                return file.table(columns)

        yield from self._of_each(read)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yields the given columns of all committed rows, in batches of at most `rows` rows, in the order of the files'
        names. No batch has rows of two files. A column is given by its name, or by the path of a Parquet column within
        it (`samples.list.element.trainable`).

        Errors: OSError; pa.ArrowException for a damaged file or a column that it lacks; UserError for a file of an
        unknown version.
        """
        for name in self.committed():
            with self.open_committed(name) as file:
                yield from file.batches(columns, rows)

    def count(self) -> int:
        """Returns the number of committed rows; only the files' footers are read. Errors: OSError; pa.ArrowException
        for a damaged file; UserError for a file of an unknown version.
        """

        def rows(name: str) -> int:
            with self.open_committed(name) as file:
                return len(file)

        return sum(self._of_each(rows))

    def committed(self) -> list[str]:
        """Returns the sorted names of the committed files, without copies of them (`without_copies`). Errors: OSError."""
        return without_copies(self, [name for name in self.names(EPISODES) if name.endswith(".parquet")])

    def _of_each(self, read: Callable[[str], Read]) -> Iterator[Read]:
        with ThreadPoolExecutor(self.readers) as pool:
            yield from pool.map(read, self.committed())

    # ---- writing ----

    @abstractmethod
    def create(self) -> None:
        """Creates the directory. On an object store, which has no folders, it only checks that nothing is there.
        Errors: FileExistsError if the directory exists; OSError.
        """

    @abstractmethod
    def claim(self) -> Owner:
        """Claims the run for this driver, under the next epoch, and returns the claim. Errors: UserError while another
        driver owns it; OSError.
        """

    @abstractmethod
    def is_owned(self) -> bool:
        """Says whether a driver writes the run now. Writes nothing. Errors: OSError."""

    @abstractmethod
    def begin_epoch(self, epoch: int) -> Storage:
        """Deletes the files that other epochs staged. Returns a copy of this storage whose staging folder is the
        epoch's, and empty. Errors: OSError.
        """

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Writes a file of the run directory whole or not at all, and replaces an older one. It is durable when this
        returns. Errors: OSError.
        """

    def alone(self, name: str) -> AbstractContextManager[None]:
        """Keeps other processes that ask for the same name out while the block runs, as far as the storage can: of an
        object store, nobody is kept out. Errors: OSError.
        """
        return nullcontext()

    @abstractmethod
    def stage(self, name: str, table: pa.Table) -> str:
        """Writes rows to a file in the staging folder, and returns its name, by which the driver publishes it. Errors:
        OSError.
        """

    @abstractmethod
    def publish(self, staged: str, name: str) -> None:
        """Makes a staged file part of the run in one step, under `name`. Errors: OSError, for example if it is not
        staged any more.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Deletes a file if it exists. Errors: OSError."""

    @abstractmethod
    def delete_folder(self, name: str) -> None:
        """Deletes a folder and its contents if it exists. Errors: OSError."""

    @abstractmethod
    def remove(self) -> None:
        """Deletes the whole run directory, and the folders around it that were made for it and are empty. Errors:
        OSError.
        """
