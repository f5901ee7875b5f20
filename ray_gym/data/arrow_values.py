"""Makes JSON data of the values of an Arrow column, as the column's type says.

Dates, times and UUIDs become texts, and Parquet's JSON type is decoded, at any depth. Null keys of nested columns are
left out. A whole decimal number becomes an int. Another one becomes a float if the float's shortest spelling is the
same number, which it is for up to 15 digits; else it can't be read. Nor can a value of an extension type that is not
known here, as its storage alone says something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ray_gym.each_key_once import RepeatedKey, each_key_once
from ray_gym.errors import describe

Reader = Callable[[Any], Any]
"""Makes JSON data of a value that is not null. Errors: NoJson."""
NESTED = "datasets."
"""Begins the names of Hugging Face's extension types, whose storage is nested lists of the same shape."""


class NoJson(ValueError):
    """Says why a value can't be read as JSON data."""


def reader_of(field: pa.Field) -> Reader:
    """Returns the reader of the values that pyarrow gives for a field (maps as dicts)."""
    extension = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode(errors="replace")
    if extension and not extension.startswith(NESTED):  # pyarrow does not know it
        return partial(_refuse, f"{extension} (stored as {field.type})")
    return _reader_of_type(field.type)


def _reader_of_type(kind: pa.DataType) -> Reader:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _reader_of_extension(kind)
    if types.is_struct(kind):
        return partial(_object, {field.name: reader_of(field) for field in kind.fields})
    if types.is_map(kind):
        return partial(_mapping, _reader_of_keys(kind.key_field), reader_of(kind.item_field))
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType):
        item = reader_of(kind.value_field)
        return _same if item is _same else partial(_list, item)
    if types.is_dictionary(kind):
        return _reader_of_type(kind.value_type)
    if types.is_decimal(kind):
        return partial(_number, str(kind))
    return _iso if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind) else _same


def _reader_of_extension(kind: pa.BaseExtensionType) -> Reader:
    if isinstance(kind, pa.JsonType):
        return _decode
    if isinstance(kind, pa.UuidType):
        return str
    if isinstance(kind, pa.Bool8Type):
        return _same
    if isinstance(kind, pa.FixedShapeTensorType):
        return partial(_tensor, kind.shape, kind.permutation)
    if kind.extension_name.startswith(NESTED):
        return _reader_of_type(kind.storage_type)
    return partial(_refuse, str(kind))


def _reader_of_keys(field: pa.Field) -> Reader:
    """Returns the reader of the keys of a map, which are texts wherever they can't be a whole number."""
    return str if pa.types.is_decimal(field.type) or isinstance(field.type, pa.JsonType) else reader_of(field)


def _same(value: Any) -> Any:
    return value


def _iso(value: Any) -> str:
    text: str = value.isoformat()
    return text


def _object(readers: dict[str, Reader], value: dict[str, Any]) -> dict[str, Any]:
    return {name: readers[name](item) for name, item in value.items() if item is not None}


def _mapping(key: Reader, item: Reader, value: dict[Any, Any]) -> dict[Any, Any]:
    return {key(name): item(one) for name, one in value.items() if one is not None}


def _list(item: Reader, value: list[Any]) -> list[Any]:
    return [None if one is None else item(one) for one in value]


def _tensor(shape: list[int], permutation: list[int] | None, value: list[Any]) -> Any:
    """Returns the nested lists of a tensor, whose values are given as they are stored, row by row."""
    tensor = np.array(value, object).reshape(shape)
    return (tensor if permutation is None else tensor.transpose(permutation)).tolist()


def _number(kind: str, value: Decimal) -> int | float:
    whole = int(value)
    if whole == value:
        return whole
    near = float(value)
    if Decimal(repr(near)) == value:
        return near
    raise NoJson(
        f"a {kind} that can't be read: no float holds {value}; cast the column to double, which rounds it, or to text"
    )


def _refuse(kind: str, value: Any) -> Any:
    raise NoJson(f"can't be read: nothing here knows the type {kind}; cast the column to a plain one")


def _decode(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=each_key_once)
    except RepeatedKey as error:
        raise NoJson(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise NoJson(f"invalid JSON: {describe(error)}") from None
