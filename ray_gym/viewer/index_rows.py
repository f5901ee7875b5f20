"""Reads the part of a run's files that its index holds: a flat row for each episode, without what was said.

pyarrow imports pandas (0.3 s, of the 2 s until a viewer's first page) where it makes arrays or scalars of Python's or
NumPy's values, and in `to_numpy`. So here numbers change hands as buffers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ray_gym.run.directory.parquet import RowsFile

LONGEST_TEXT = 300
"""Most characters of a text in the index. The episode's own page has all of it."""
PLAIN = (
    "episode_id",
    "task_id",
    "group_id",
    "repeat",
    "try",
    "attempt",
    "env_id",
    "seed",
    "status",
    "stop_reason",
    "reward",
    "turns",
    "group_size",
    "group_completed",
    "started_at",
    "ended_at",
)
"""Columns of the record that the index has as they are."""
COUNTS = ("prompt_tokens", "generated_tokens", "cached_tokens", "model_calls", "tool_calls", "tool_errors")
TIMES = ("active_s", "model_s", "tool_s")
_VERSION = "samples.list.element.versions.list.element.version"
_FORK = "samples.list.element.fork_reason"
_TRAINABLE = "samples.list.element.trainable"
READ = [*PLAIN, "stop_text", "failure", "usage", "timing", _VERSION, _FORK, _TRAINABLE]
"""Columns of a file that are read for the index, as `RowsFile` takes them."""

_TEXTS = {"episode_id", "task_id", "group_id", "env_id", "status", "stop_reason"}
_REALS = {"reward", "started_at", "ended_at"}
INDEX = pa.schema(
    [
        ("file", pa.int32()),
        ("place", pa.int32()),
        *((name, pa.string() if name in _TEXTS else pa.float64() if name in _REALS else pa.int64()) for name in PLAIN),
        ("stop_text", pa.string()),
        ("failure_kind", pa.string()),
        ("failure_where", pa.string()),
        ("failure", pa.string()),
        *((name, pa.int64()) for name in COUNTS),
        *((name, pa.float64()) for name in TIMES),
        ("samples", pa.int64()),
        ("trainable", pa.int64()),
        ("forks", pa.int64()),
        ("version", pa.int64()),
        ("newest", pa.int64()),
        ("staleness", pa.int64()),
    ]
)
"""Schema of the index. `file` is the number of the row's file in the order of the files' names as they were read, `place`
the row's number in it. `samples`, `trainable` and `forks` count the samples; `version` and `newest` are
the lowest and the highest version of the weights that generated a token, null without one. `staleness` is the number of
versions by which `version` is behind the newest that the run had seen when the row was committed (`with_staleness`).
"""


def index_rows(file: RowsFile, number: int) -> pa.Table:
    """Returns the rows of the index for an open file, under `INDEX`. `number`: the file's. Errors: as `RowsFile`."""
    return _index_of(file.table(READ), number, 0)


def index_rows_of_group(file: RowsFile, number: int, row_group: int) -> pa.Table:
    """Returns the rows of the index for one row group of an open file. Errors: as `RowsFile`."""
    return _index_of(file.row_group(row_group, READ), number, file.starts()[row_group])


def _index_of(table: pa.Table, number: int, start: int) -> pa.Table:
    rows = table.num_rows
    made: dict[str, Any] = {
        "file": _array(np.full(rows, number)),
        "place": _array(np.arange(start, start + rows)),
        **{name: table.column(name) for name in PLAIN},
        "stop_text": _cut(table.column("stop_text")),
    }
    failure, usage, timing = (_flat(table.column(name)) for name in ("failure", "usage", "timing"))
    made |= {
        "failure_kind": pc.struct_field(failure, "kind"),
        "failure_where": _cut(pc.struct_field(failure, "where")),
        "failure": _cut(pc.struct_field(failure, "message")),
        **{name: pc.struct_field(usage, name) for name in COUNTS},
        **{name: pc.struct_field(timing, name) for name in TIMES},
        **_of_samples(table.column("samples").combine_chunks()),
    }
    arrays = [_flat(made[field.name]).cast(field.type) for field in INDEX]
    return pa.Table.from_arrays(arrays, schema=INDEX)


def _of_samples(samples: Any) -> dict[str, Any]:
    """Returns the columns of the index that are about samples. `samples`: the column, with the parts that are read."""
    rows = len(samples)
    parents, flat = pc.list_parent_indices(samples), samples.flatten()
    forked = pc.is_valid(pc.struct_field(flat, "fork_reason"))
    made = {
        "samples": _counted(parents, rows),
        "trainable": _counted(parents.filter(pc.struct_field(flat, "trainable")), rows),
        "forks": _counted(parents.filter(forked), rows),
    }
    spans = pc.struct_field(flat, "versions")
    owners = parents.take(pc.list_parent_indices(spans))
    versions = pc.struct_field(spans.flatten(), "version")
    lowest, highest = np.full(rows, np.iinfo(np.int64).max), np.full(rows, -1)
    given = _numbers(owners.filter(pc.is_valid(versions))), _numbers(versions.drop_null())
    np.minimum.at(lowest, *given)
    np.maximum.at(highest, *given)
    none, has_version = pa.nulls(rows, pa.int64()), pc.less_equal(_array(lowest), _array(highest))
    made["version"] = pc.if_else(has_version, _array(lowest), none)
    made["newest"] = pc.if_else(has_version, _array(highest), none)
    made["staleness"] = none
    return made


def with_staleness(rows: pa.Table, newest: int) -> tuple[pa.Table, int]:
    """Returns rows of the index with their staleness, and the newest version up to them. rows: those of the file that was
    committed next. newest: highest version of the files before it, -1 without one.
    """
    highest = pc.coalesce(rows.column("newest").combine_chunks(), _array(np.full(rows.num_rows, -1)))
    until = np.maximum.accumulate(np.concatenate([[newest], _numbers(highest)]))
    staleness = pc.subtract(_array(until[1:]), rows.column("version").combine_chunks())
    return rows.set_column(rows.schema.get_field_index("staleness"), "staleness", staleness), int(until[-1])


def _counted(parents: Any, rows: int) -> pa.Array:
    """Returns how often each of `rows` rows is among `parents`."""
    return _array(np.bincount(_numbers(parents), minlength=rows))


def _numbers(array: Any) -> NDArray[np.int64]:
    """Returns the numbers of an array without nulls, which share its memory."""
    numbers: NDArray[np.int64] = np.from_dlpack(array)  # type: ignore[assignment]
    return numbers


def _array(values: NDArray[np.int64]) -> pa.Array:
    """Returns the numbers, which share their memory."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _cut(column: Any) -> Any:
    return pc.utf8_slice_codeunits(column, 0, LONGEST_TEXT)
