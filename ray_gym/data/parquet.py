"""Writes task rows as Parquet and reads them back without loss.

A column whose values are all text, whole numbers, numbers or truth values has that type. Any other column has Parquet's
JSON type, so that rows may differ in their nested keys and types. Fields that a row does not set are null. Files from
elsewhere may have nested columns instead; their nulls stand for keys that only other rows have, and are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ray_gym.data.arrow_values import NoJson, Reader, reader_of
from ray_gym.errors import UserError, describe

BATCH = 16
"""Number of rows that are held at once, so that rows of some MiB each need little memory. (pyarrow itself holds a page of
each column besides, which has as many rows as the file's writer chose.)
"""
BUFFER = 2**20
"""Number of bytes of each column that are read at once. Else pyarrow holds the columns of a whole row group, which other
writers let have a million rows.
"""
_PLAIN_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def plain_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the fields of each row of a Parquet file, without null fields and null keys of nested columns.

    A value that can't be read is `Unreadable`. Errors: exceptions of pyarrow; UserError if two columns have one name.
    """
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) as file:
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            repeated = Counter(names).most_common(1)[0][0]
            raise UserError(f"{path}: two columns have the name {repeated!r}; rename one, or leave it out")
        readers = {field.name: reader_of(field) for field in file.schema_arrow}
        for batch in _batches(file):
            for row in _rows(batch):
                yield _fields(row, readers)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a value that Python can't hold, such as a map with a key twice."""

    why: str


def unreadable_in(fields: Mapping[str, Any]) -> str:
    """Describes the first field that is `Unreadable`; "" if there is none."""
    return next((f"{name}: {value.why}" for name, value in fields.items() if isinstance(value, Unreadable)), "")


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Returns the rows of a batch. If some value can't be read, the others are read one by one."""
    try:
        columns_held = [_column_held(column) for column in batch.columns]
        held = pa.RecordBatch.from_arrays(columns_held, names=batch.schema.names)
        rows: list[dict[str, Any]] = held.to_pylist(maps_as_pydicts="strict")
    except Exception:  # it depends on the type which exceptions pyarrow raises
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        rows = [{name: _value(column, row) for name, column in columns.items()} for row in range(batch.num_rows)]
    return rows


def _value(column: pa.Array, row: int) -> Any:
    try:
        if not column[row].is_valid:
            return None
        one = column.slice(row, 1) if _type_held(column.type) == column.type else column.take([row])
        return _column_held(one)[0].as_py(maps_as_pydicts="strict")  # a slice would be cast with its other values
    except Exception as error:  # as above
        return Unreadable(f"a {column.type} that can't be read: {describe(error)}")


def _column_held(column: pa.Array) -> pa.Array:
    held = _type_held(column.type)
    return column if held == column.type else column.cast(held)


def _type_held(kind: pa.DataType) -> pa.DataType:
    """Returns a type whose values Python can hold: of times with nanoseconds, at any depth, the same with microseconds.
    pyarrow casts to it only what has no nanoseconds.
    """
    types = pa.types
    if types.is_time64(kind):
        return pa.time64("us")
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if types.is_struct(kind):
        return pa.struct([_field_held(kind.field(at)) for at in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_field_held(kind.key_field), _field_held(kind.item_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(_field_held(kind.value_field), kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        return (pa.list_ if types.is_list(kind) else pa.large_list)(_field_held(kind.value_field))
    if types.is_list_view(kind) or types.is_large_list_view(kind):  # pyarrow casts none of these
        return (pa.list_view if types.is_list_view(kind) else pa.large_list_view)(_field_held(kind.value_field))
    if types.is_dictionary(kind) and (held := _type_held(kind.value_type)) != kind.value_type:
        return held
    return kind


def _field_held(field: pa.Field) -> pa.Field:
    return field.with_type(_type_held(field.type))


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file in order, `BATCH` at once. Where pyarrow can't hold so many, as they have more than
    2 GiB of text, it yields fewer.

    Errors: exceptions of pyarrow for a row that it can't read alone.
    """
    for group in range(file.num_row_groups):
        done, rows = 0, BATCH
        while done < file.metadata.row_group(group).num_rows:
            try:
                for batch in _skip_rows(file.iter_batches(rows, row_groups=[group]), done):
                    yield batch
                    done += batch.num_rows
            except pa.ArrowException:
                if rows == 1:
                    raise
                rows = max(1, rows // 10)


def _skip_rows(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """Yields batches without their first `count` rows."""
    for batch in batches:
        skipped = min(count, batch.num_rows)
        count -= skipped
        if skipped < batch.num_rows:
            yield batch.slice(skipped)


def write_rows(rows: Sequence[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Writes JSON objects as one table. Its columns are in the order in which they first occur in the rows.

    Errors: OSError; ValueError for a number in a JSON column that is not finite.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [_column(name, rows) for name in names]
    pq.write_table(pa.Table.from_arrays(columns, names=names), file, compression="zstd")


def _column(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    given = [row[name] for row in rows if name in row]
    kinds = {type(value) for value in given}
    if len(kinds) == 1 and (plain := _PLAIN_TYPES.get(kinds.pop())) and _fit(given):
        return pa.array([row.get(name) for row in rows], plain)
    return pa.array([_json(row[name]) if name in row else None for row in rows], pa.json_())


def _fit(values: Sequence[Any]) -> bool:
    """Says whether all whole numbers among the values fit into 64 bits."""
    return all(not isinstance(value, int) or -(2**63) <= value < 2**63 for value in values)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _fields(row: dict[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    return {name: _read(readers[name], value) for name, value in row.items() if value is not None}


def _read(reader: Reader, value: Any) -> Any:
    if isinstance(value, Unreadable):
        return value
    try:
        return reader(value)
    except NoJson as error:
        return Unreadable(str(error))
