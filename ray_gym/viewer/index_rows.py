"""Reads the part of a run's files that its index holds: a flat row for each episode, without what was said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
NONE_YET = np.iinfo(np.int64).max
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
        "file": pa.repeat(pa.scalar(number, pa.int32()), rows),
        "place": pa.array(np.arange(start, start + rows, dtype=np.int32)),
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
        "samples": pc.fill_null(pc.list_value_length(samples), 0),
        "trainable": _counted(parents.filter(pc.fill_null(pc.struct_field(flat, "trainable"), False)), rows),
        "forks": _counted(parents.filter(forked), rows),
    }
    spans = pc.struct_field(flat, "versions")
    owners = parents.take(pc.list_parent_indices(spans))
    versions = pc.struct_field(spans.flatten(), "version")
    given = owners.to_numpy(zero_copy_only=False), versions.to_numpy(zero_copy_only=False)
    lowest, highest = np.full(rows, NONE_YET), np.full(rows, -1)
    np.minimum.at(lowest, *given)
    np.maximum.at(highest, *given)
    made["version"] = pa.array(lowest, mask=lowest == NONE_YET)
    made["newest"] = pa.array(highest, mask=lowest == NONE_YET)
    made["staleness"] = pa.nulls(rows, pa.int64())
    return made


def with_staleness(rows: pa.Table, newest: int) -> tuple[pa.Table, int]:
    """Returns rows of the index with their staleness, and the newest version up to them. rows: those of the file that was
    committed next. newest: highest version of the files before it, -1 without one.
    """
    highest = rows.column("newest").fill_null(-1).to_numpy()
    until = np.maximum.accumulate(np.concatenate([[newest], highest]))
    staleness = pc.subtract(pa.array(until[1:]), rows.column("version").combine_chunks())
    return rows.set_column(rows.schema.get_field_index("staleness"), "staleness", staleness), int(until[-1])


def _counted(parents: Any, rows: int) -> pa.Array:
    """Returns how often each of `rows` rows is among `parents`."""
    return pa.array(np.bincount(parents.to_numpy(zero_copy_only=False), minlength=rows).astype(np.int64))


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _cut(column: Any) -> Any:
    return pc.utf8_slice_codeunits(column, 0, LONGEST_TEXT)
