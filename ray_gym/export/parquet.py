"""Writes lines as Parquet, a row group at a time, with columns of JSON where their data has no one type."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

Line = dict[str, Any]

JSON = pa.json_()
"""Type of JSON texts: Parquet's logical type JSON. Hugging Face's `datasets` reads it as the data; others as text. Its
loader of JSON lines guesses a type for each key instead, and fails on a file of more than 10 MB whose later tools or
arguments have other keys."""
LINES_AT_ONCE = 16
"""Number of lines that are turned into Arrow together."""
BYTES_IN_GROUP = 32 * 2**20
"""Bytes of Arrow from which on a row group is written, which is in memory as a whole."""


def write_parquet(file: BinaryIO, schema: pa.Schema, lines: Iterable[Line]) -> None:
    """Writes lines under a schema; data of columns of `JSON` is written as text. Errors: OSError; pa.ArrowException for
    a value of another type.
    """
    stored = pa.schema([(field.name, _stored(field.type)) for field in schema])
    with pq.ParquetWriter(file, schema) as writer:
        waiting, size = list[pa.Table](), 0
        for rows in _batches(iter(lines)):
            texts = [{field.name: _as_stored(row.get(field.name), field.type) for field in schema} for row in rows]
            waiting.append(pa.Table.from_pylist(texts, schema=stored).cast(schema))
            size += waiting[-1].nbytes
            if size >= BYTES_IN_GROUP:
                writer.write_table(pa.concat_tables(waiting))
                waiting, size = [], 0
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _stored(kind: pa.DataType) -> pa.DataType:
    """Returns the type that Arrow makes of Python objects and casts to `kind`: it can't make extension types itself."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_stored(kind.value_type)) if pa.types.is_list(kind) else kind


def _as_stored(value: Any, kind: pa.DataType) -> Any:
    """Returns a value with data of the type `JSON` as texts, in ASCII, which can spell lone surrogates."""
    if kind == JSON:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return [_as_stored(item, kind.value_type) for item in value] if kind == pa.list_(JSON) else value


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    while rows := list(islice(lines, LINES_AT_ONCE)):
        yield rows
