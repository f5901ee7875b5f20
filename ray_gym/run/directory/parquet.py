"""How rows become a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

UNLIKE = {"logprobs", "started_at", "ended_at", "duration_s", "timing"}
"""Numbers that hardly ever are the same twice: a dictionary of them takes longer to be made, and more room than they do."""


def write_rows(table: pa.Table, file: IO[bytes] | pa.NativeFile) -> None:
    """Errors: OSError."""
    columns = [path for field in table.schema for path in _columns(field.name, field.type)]
    repeating = [path for path in columns if UNLIKE.isdisjoint(path.split("."))]
    pq.write_table(table, file, compression="zstd", use_dictionary=repeating)


def _columns(path: str, kind: pa.DataType) -> Iterator[str]:
    """A Parquet file's: what has no parts."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _columns(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield from _columns(f"{path}.list.element", kind.value_type)
    else:
        yield path
