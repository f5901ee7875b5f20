"""Reads what can be read of committed files, and names the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import pyarrow as pa

from ray_gym.errors import UserError
from ray_gym.run.directory.parquet import DamagedRows
from ray_gym.run.directory.storage import Storage


def intact_rows(storage: Storage, columns: Sequence[str], rows: int, damages: list[str]) -> Iterator[pa.RecordBatch]:
    """Yields what `intact_batches` yields of each committed file, in the order of the files' names. Errors: OSError of
    the filesystem.
    """
    for name in storage.committed():
        yield from intact_batches(storage, name, columns, rows, damages)


def intact_batches(
    storage: Storage, name: str, columns: Sequence[str], rows: int, damages: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yields columns of a file's rows in batches of at most `rows` rows, but for row groups that can't be read: of these
    a line is added to `damages`, as of a file of an unknown version. A file that is gone, as a stream removes them, has
    no rows. Columns are given as for `RowsFile.table`. Errors: OSError of the filesystem.
    """
    seen = 0
    try:
        with storage.open_committed(name) as file:
            for batch in file.batches(columns, rows):
                seen += batch.num_rows
                yield batch
    except FileNotFoundError:
        return
    except DamagedRows as error:
        yield from _by_group(storage, name, columns, rows, damages, seen, error)
    except UserError as error:
        damages.append(str(error))


def _by_group(
    storage: Storage,
    name: str,
    columns: Sequence[str],
    rows: int,
    damages: list[str],
    seen: int,
    error: DamagedRows,
) -> Iterator[pa.RecordBatch]:
    """Yields the rows behind the first `seen` ones, row group by row group. `error`: that of the file as a whole."""
    try:
        with storage.open_committed(name) as file:
            ends = [*file.starts(), len(file)]
    except DamagedRows:
        damages.append(str(error))
        return
    for group in range(max(0, bisect_right(ends, seen) - 1), len(ends) - 1):
        at = ends[group]
        try:
            with storage.open_committed(name) as file:
                for batch in file.batches(columns, rows, group):
                    new = batch.slice(max(0, seen - at))
                    at += batch.num_rows
                    seen += new.num_rows
                    yield new
        except DamagedRows as problem:
            damages.append(f"{ends[group + 1] - max(at, seen):,} episodes of {problem}")
            seen = max(seen, ends[group + 1])
