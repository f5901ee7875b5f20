"""Reads the index of a run's file. What can't be read is named, and the rest is read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ray_gym.errors import UserError, describe
from ray_gym.run.directory.storage import Storage
from ray_gym.viewer.index_rows import INDEX, index_rows, index_rows_of_group


@dataclass(frozen=True, slots=True)
class Damage:
    """Says which part of a run can't be read."""

    file: str
    """Name of the file in `episodes/`."""
    rows: int | None
    """Number of the rows that are missing; None if it is not known."""
    reason: str


def read_index(storage: Storage, name: str, number: int) -> tuple[pa.Table, list[Damage]]:
    """Returns the rows of a committed file's index that can be read, under `INDEX`, and what can't. `number`: the file's.
    A file that is gone has no rows.
    """
    try:
        with storage.open_committed(name) as file:
            return index_rows(file, number), []
    except FileNotFoundError:
        return INDEX.empty_table(), []  # it went while the files were listed
    except (UserError, OSError) as error:
        return _read_parts(storage, name, number, error)


def _read_parts(storage: Storage, name: str, number: int, error: Exception) -> tuple[pa.Table, list[Damage]]:
    """Returns the rows of the row groups that can be read, and what can't. `error`: that of the file as a whole."""
    parts, damage, starts, rows = list[pa.Table](), list[Damage](), list[int](), 0
    try:
        with storage.open_committed(name) as file:
            starts, rows = file.starts(), len(file)
    except (UserError, OSError):
        return INDEX.empty_table(), [Damage(name, None, _told(error))]
    for group, start in enumerate(starts):
        try:
            with storage.open_committed(name) as file:
                parts.append(index_rows_of_group(file, number, group))
        except (UserError, OSError) as problem:
            end = starts[group + 1] if group + 1 < len(starts) else rows
            damage.append(Damage(name, end - start, _told(problem)))
    return pa.concat_tables(parts) if parts else INDEX.empty_table(), damage


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, UserError) else describe(error)
