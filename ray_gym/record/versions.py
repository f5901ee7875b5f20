"""Reads tables and summaries of all versions of the record, and returns them in today's form.

A change that raises `ray_gym.record.schema.VERSION` adds a line to `READERS` and two stored runs to
`tests/record/versions/`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ray_gym.errors import UserError
from ray_gym.record.schema import READ_SINCE_KEY, SCHEMA, VERSION, VERSION_KEY

Reader = Callable[[pa.Table, Sequence[str]], pa.Table]
"""Function that turns a table of an older or of today's version into a table of today's schema.

It takes the table that was read, and the names of the wanted columns, which it returns in that order."""
Metadata = Mapping[bytes, bytes]
"""Metadata of a Parquet file."""


COSTS = ("cost", "costs")
"""Columns that are new in version 5."""


def reader_of(metadata: Metadata | None, file: str) -> Reader:
    """Returns the reader for a file's version. `file` names the file in messages. Errors: UserError if the version is
    unknown, or is no number.
    """
    version = version_of(metadata, file)
    if version in READERS:
        return READERS[version]
    since = (metadata or {}).get(READ_SINCE_KEY.encode(), b"").decode("utf-8", "replace")
    needed = f"ray_gym {since} or a later one" if since else "a later ray_gym"
    raise UserError(
        f"{file}: it has version {version} of the record, and versions up to {VERSION} are known: {needed} reads it"
    )


def version_of(metadata: Metadata | None, file: str) -> int:
    """Returns the version in a file's metadata; 1 if there is none. `file` names the file in messages. Errors:
    UserError if the version is no number.
    """
    said = (metadata or {}).get(VERSION_KEY.encode())
    if said is None:
        return 1
    try:
        return int(said)
    except ValueError:
        raise UserError(f"{file}: its metadata say {VERSION_KEY} = {said!r}, which is no number") from None


def _read_1(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Reads version 1, which did not record the tools that prompts showed: the column `tools_shown` is null, which
    differs from no tools.
    """
    return _as_today(table, columns, later=("tools_shown", "traceback", "renderings", *COSTS))


def _read_2(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Reads version 2, which did not record where in an author's code an episode failed: `traceback` is null."""
    return _as_today(table, columns, later=("traceback", "renderings", *COSTS))


def _read_3(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Reads version 3, which did not record pictures of the state: `renderings` is null."""
    return _as_today(table, columns, later=("renderings", *COSTS))


def _read_4(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Reads version 4, which did not record costs: `cost` and `costs` are null, as without prices."""
    return _as_today(table, columns, later=COSTS)


def _read_5(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    return _as_today(table, columns)


READERS: Mapping[int, Reader] = {1: _read_1, 2: _read_2, 3: _read_3, 4: _read_4, 5: _read_5}
"""Readers by the version of the files that they read."""


EARLIER_KEYS: Mapping[str, str] = {
    "episodes_gone_on_with": "episodes_resumed",
    "episodes_tried_again": "episodes_retried",
    "calls_from_the_journal": "calls_replayed",
}
"""Today's keys under `recovery` in summary.json, by the keys up to version 0.1."""


def read_summary(content: bytes) -> dict[str, Any]:
    """Reads a summary.json of any version, and returns it with today's keys. Errors: ValueError if it is no JSON, or no
    object.
    """
    summary = json.loads(content)
    if not isinstance(summary, dict):
        raise ValueError("summary.json holds no object")
    if isinstance(recovery := summary.get("recovery"), dict):
        summary["recovery"] = {EARLIER_KEYS.get(key, key): value for key, value in recovery.items()}
    return summary


def _as_today(table: pa.Table, columns: Sequence[str], later: Sequence[str] = ()) -> pa.Table:
    """Returns the given columns, in the given order, with nulls for those in `later`, which the table's version did not
    have.

    Errors: pa.ArrowInvalid if the table lacks another column.
    """
    if lacking := set(columns) - set(table.column_names) - set(later):
        raise pa.ArrowInvalid(f"it has no column {min(lacking)!r}")
    fields = [SCHEMA.field(name) if name in later else table.schema.field(name) for name in columns]
    given = [
        pa.nulls(table.num_rows, field.type) if field.name in later else table.column(field.name) for field in fields
    ]
    return pa.Table.from_arrays(given, schema=pa.schema(fields, metadata=SCHEMA.metadata))
