"""Writes rows as a Parquet file, and reads a file of any version back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem

from ray_gym.errors import UserError
from ray_gym.record.schema import SCHEMA
from ray_gym.record.versions import reader_of

UNLIKE = {"logprobs", "started_at", "ended_at", "duration_s", "timing"}
"""Columns whose numbers are hardly ever the same twice. A dictionary of them would take more time and more space than
they do."""


def write_rows(table: pa.Table, file: IO[bytes] | pa.NativeFile) -> None:
    """Writes a table as Parquet, compressed by zstd. The schema's version gets into the file's metadata if the table
    has the metadata of `SCHEMA`. Errors: OSError.
    """
    columns = [path for field in table.schema for path in _columns(field.name, field.type)]
    repeating = [path for path in columns if UNLIKE.isdisjoint(path.split("."))]
    one = (
        table.unify_dictionaries()
    )  # Arrow writes the texts anew for each row after a chunk whose dictionary is another one
    pq.write_table(one, file, compression="zstd", use_dictionary=repeating)


class DamagedRows(UserError):
    """Says that a file of rows can't be read to its end."""


class RowsFile:
    """Reads rows of an open Parquet file as tables under `SCHEMA`, whatever version the file has.

    Errors of all methods that read rows: OSError and pa.ArrowException for a damaged file.
    """

    def __init__(self, file: pq.ParquetFile, path: str) -> None:
        """Chooses the reader for the version in the file's metadata. `path` names the file in messages. Errors:
        UserError for an unknown version.
        """
        self._file = file
        self._reader = reader_of(file.metadata.metadata, path)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return int(self._file.metadata.num_rows)

    def table(self, columns: Sequence[str] = SCHEMA.names) -> pa.Table:
        """Reads columns of all rows, and returns them in the given order. A column is given by its name, or by the path
        of a Parquet column within it (`samples.list.element.trainable`): then only that part of it is read. Errors:
        pa.ArrowInvalid for a column that the file lacks.
        """
        return self._reader(self._file.read(columns=list(columns)), _names(columns))

    def starts(self) -> list[int]:
        """Returns the number of the first row of each row group."""
        counts = [self._file.metadata.row_group(number).num_rows for number in range(self._file.num_row_groups)]
        return [sum(counts[:number]) for number in range(len(counts))]

    def row_group(self, number: int, columns: Sequence[str] = SCHEMA.names) -> pa.Table:
        """Reads columns of one row group, which can be read though others are damaged. Columns are given as for
        `table`.
        """
        return self._reader(self._file.read_row_group(number, columns=list(columns)), _names(columns))

    def batches(self, columns: Sequence[str], rows: int, group: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yields columns of all rows in order, in batches of at most `rows` rows. `columns` are given by name, or by
        the path of a Parquet column within one (`samples.list.element.trainable`). `group`: number of the one row group
        that is read. Errors: pa.ArrowInvalid for a column that the file lacks.
        """
        groups = None if group is None else [group]
        for batch in self._file.iter_batches(rows, row_groups=groups, columns=list(columns)):
            yield from self._reader(pa.Table.from_batches([batch]), _names(columns)).to_batches()


@contextmanager
def open_rows(filesystem: FileSystem, path: str) -> Iterator[RowsFile]:
    """Opens a Parquet file while the block runs. Errors, also of reading in the block: OSError, DamagedRows, and
    UserError for a file of an unknown version. All name the file.
    """
    try:
        with pq.ParquetFile(path, filesystem=filesystem, pre_buffer=True) as file:
            yield RowsFile(file, path)
    except pa.ArrowException as error:
        raise _damaged(path, error) from None
    except OSError as error:
        if error.errno is not None:  # the filesystem's, not the file's
            raise
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> DamagedRows:
    reason = str(error).partition("\n")[0]
    return DamagedRows(f"{path}: this file of rows is damaged: {reason}; put a copy of it in its place")


def _names(columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(path.partition(".")[0] for path in columns))


def _columns(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yields the paths of the columns of a Parquet file, which are the leaves of nested types."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _columns(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield from _columns(f"{path}.list.element", kind.value_type)
    else:
        yield path
