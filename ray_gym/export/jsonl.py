"""Writes the rows of episodes themselves as JSON lines."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from ray_gym.export.finished import Row
from ray_gym.export.form import Form
from ray_gym.export.selection import Counts
from ray_gym.record.schema import SCHEMA


class Jsonl(Form):
    """Writes each row with all its columns, tokens included, as JSON."""

    to = "jsonl"
    columns = tuple(SCHEMA.names)
    has_tokens = True

    def without_tokens(self, row: Row) -> Row:
        """Returns the row without its samples."""
        return {**row, "samples": []}

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields the rows, of episodes of any status. Numbers that JSON lacks are the texts NaN, Infinity and -Infinity,
        as in the JSON form of Protocol Buffers; bytes are base64.
        """
        for group in groups:
            for row in group:
                yield {name: _json(value) for name, value in row.items()}


def row_of(line: str) -> Row:
    """Returns the row that a line was made of, for `ray_gym.record.schema.as_table`. Errors: ValueError."""
    row = json.loads(line)
    return {name: _value(row[name], SCHEMA.field(name).type) for name in row}


def _value(given: Any, kind: pa.DataType) -> Any:
    """Returns a value of a line as a column of this type has it."""
    if given is None:
        return None
    if pa.types.is_dictionary(kind):
        return given
    if pa.types.is_struct(kind):
        return {field.name: _value(given[field.name], field.type) for field in kind if field.name in given}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        plain = pa.types.is_integer(kind.value_type)
        return given if plain else [_value(item, kind.value_type) for item in given]
    if pa.types.is_floating(kind):
        return float(given)  # which reads NaN and Infinity
    return base64.b64decode(given) if pa.types.is_binary(kind) else given


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value] if not value or not isinstance(value[0], int) else value
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
