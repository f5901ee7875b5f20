"""Turns Python values into Arrow columns.

Errors of all functions that make a column: TypeError and pa.ArrowException for a value that is not of its column's
type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import astuple

from ray_gym.messages import encodable


def column(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Makes a column of type `kind` from the values of all rows. Lone surrogates in texts, which JSON can spell and
    UTF-8 can't, are replaced by question marks. Errors: TypeError and pa.ArrowException for a value of another type.
    """
    if pa.types.is_string(kind) and (
        odd := [found for found in set(map(type, values)) if not issubclass(found, (str, NoneType))]
    ):
        raise TypeError(f"expected text, got {odd[0].__name__}")  # Arrow would take bytes
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(encodable(values), kind)


def structs(kind: pa.StructType, fields: Mapping[str, pa.Array | Sequence[Any]]) -> pa.Array:
    """Makes a column of structs. `fields` has, by the name of each field, its values in all rows or a finished column
    of them. Errors: KeyError if a field is missing.
    """
    given = [(field.type, fields[field.name]) for field in kind]
    arrays = [values if isinstance(values, pa.Array) else column(of, values) for of, values in given]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def lists(kind: pa.ListType, lengths: Iterable[int], items: pa.Array) -> pa.Array:
    """Makes a column of lists. `lengths` has the length of each row's list, `items` the items of all lists in order."""
    ends = np.cumsum(np.fromiter(lengths, np.int64))
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), items, kind)


def lists_of_structs(
    kind: pa.ListType, of_each: Sequence[Sequence[Any]], fields: Mapping[str, pa.Array | Sequence[Any]]
) -> pa.Array:
    """Makes a column of lists of structs. `of_each` has a list for each row, of which only the length counts; `fields`
    has, by the name of each field, its values in all structs in order.
    """
    return lists(kind, map(len, of_each), structs(kind.value_type, fields))


def lists_of_numbers(kind: pa.ListType, arrays: Sequence[np.ndarray]) -> pa.Array:
    """Makes a column of lists of numbers. `arrays` has one array of numbers for each row."""
    whole = np.concatenate(arrays) if arrays else ()
    return lists(kind, map(len, arrays), pa.array(whole, kind.value_type))


def fields_of(kind: type[msgspec.Struct], of_each: Iterable[Iterable[msgspec.Struct]]) -> dict[str, Sequence[Any]]:
    """Returns, by the name of each field of `kind`, its values in all structs in order. `of_each` has the structs of
    each row. If there are no structs, each field has no values.
    """
    rows = [astuple(struct) for struct in chain.from_iterable(of_each)]
    columns = zip(*rows, strict=True) if rows else ((),) * len(kind.__struct_fields__)
    return dict(zip(kind.__struct_fields__, columns, strict=True))
