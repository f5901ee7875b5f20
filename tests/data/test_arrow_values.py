"""Checks that values of Arrow's types become JSON data that says the same, or bad rows by name."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ray_gym import Environment, Task
from ray_gym.data.checking import task_of
from ray_gym.data.parquet import plain_rows
from ray_gym.data.rows import FileRow, TaskFile


def rows_of(path: Path, column: Any, **options: Any) -> list[FileRow]:
    pq.write_table(pa.table({"blob": column}), path / "rows.parquet", **options)
    return list(TaskFile(path / "rows.parquet").rows())


def extension(kind: pa.BaseExtensionType, values: list[Any]) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


class Period(pa.ExtensionType):  # type: ignore[misc]
    """Stands for a type of another library, which nobody registers here."""

    def __init__(self, name: str = "pandas.period", storage: pa.DataType | None = None) -> None:
        super().__init__(storage or pa.int64(), name)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Period:
        return cls(storage=storage)


def listed(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


def keyed(values: pa.Array) -> pa.Array:
    offsets = pa.array(range(len(values) + 1), pa.int32())
    return pa.MapArray.from_arrays(offsets, pa.array(["k"] * len(values)), values)


JSON = extension(pa.json_(), ['{"role":"user","name":null}', "2"])
ID = UUID("a79772d1-6a61-46dd-a481-ad893bc60757")
TENSORS = np.arange(12).reshape(2, 2, 3)
READ: dict[str, tuple[pa.Array, list[Any]]] = {
    "list of JSON": (listed(JSON), [[{"role": "user", "name": None}], [2]]),
    "JSON in a struct": (
        pa.StructArray.from_arrays([JSON], ["meta"]),
        [{"meta": {"role": "user", "name": None}}, {"meta": 2}],
    ),
    "JSON in a map": (keyed(JSON), [{"k": {"role": "user", "name": None}}, {"k": 2}]),
    "JSON beside nanoseconds": (
        pa.StructArray.from_arrays([JSON, pa.array([1000, None], pa.timestamp("ns"))], ["meta", "at"]),
        [{"meta": {"role": "user", "name": None}, "at": "1970-01-01T00:00:00.000001"}, {"meta": 2}],
    ),
    "tensor": (pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS), TENSORS.tolist()),
    "tensor without a permutation": (
        extension(pa.fixed_shape_tensor(pa.int64(), [2, 3]), [list(range(6))]),
        [TENSORS[0].tolist()],
    ),
    "transposed tensor": (
        pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS.transpose(0, 2, 1)),
        TENSORS.transpose(0, 2, 1).tolist(),
    ),
    "tensor in a list": (
        listed(pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS)),
        [[tensor] for tensor in TENSORS.tolist()],
    ),
    "tensor with a null": (extension(pa.fixed_shape_tensor(pa.int64(), [2]), [[1, None]]), [[1, None]]),
    "nested lists of datasets": (
        extension(Period("datasets.features.features.Array2D", pa.list_(pa.list_(pa.int64()))), [[[1, 2]]]),
        [[[1, 2]]],
    ),
    "UUID": (extension(pa.uuid(), [ID.bytes]), [str(ID)]),
    "UUID as a key": (
        pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), extension(pa.uuid(), [ID.bytes]), pa.array([1])),
        [{str(ID): 1}],
    ),
    "bool8": (extension(pa.bool8(), [1, 0]), [True, False]),
    "sum": (pa.array([Decimal(1), Decimal(10**37)], pa.decimal128(38, 0)), [1, 10**37]),
    "price": (pa.array([Decimal("1.50"), Decimal(2), Decimal("-0.1")], pa.decimal128(10, 2)), [1.5, 2, -0.1]),
    "prices": (pa.array([[Decimal("1.50"), None]], pa.list_(pa.decimal256(40, 2))), [[1.5, None]]),
}


@pytest.mark.parametrize("kind", READ)
def test_values_say_the_same_as_json(tmp_path: Path, kind: str) -> None:
    column, read = READ[kind]
    rows = rows_of(tmp_path, pa.chunked_array([column, pa.nulls(1, column.type)]))
    assert [row.fields and row.fields.get("blob") for row in rows] == [*read, {}]
    assert [type(row.fields["blob"]) for row in rows[:-1] if row.fields] == [type(value) for value in read]


REFUSED: dict[str, tuple[pa.Array, str]] = {
    "type of others": (extension(Period(), [1]), "the type pandas.period (stored as int64); cast"),
    "in a struct": (pa.StructArray.from_arrays([extension(Period(), [1])], ["at"]), "the type pandas.period"),
    "in a list": (listed(extension(Period(), [1])), "the type pandas.period"),
    "opaque": (extension(pa.opaque(pa.int64(), "interval", "pg"), [1]), "type_name=interval"),
    "opaque key": (
        pa.MapArray.from_arrays(
            pa.array([0, 1], pa.int32()), extension(pa.opaque(pa.int64(), "interval", "pg"), [1]), pa.array([1])
        ),
        "type_name=interval",
    ),
    "decimal that no float holds": (
        pa.array([Decimal("12345678901234567890.1")], pa.decimal128(38, 1)),
        "a decimal128(38, 1) that can't be read: no float holds 12345678901234567890.1; cast the column to double",
    ),
    "nanoseconds of a list view": (pa.array([[1001]], pa.list_view(pa.time64("ns"))), "list_view"),
    "zone": (pa.array([5], pa.timestamp("us", "Mars/X")), "a timestamp[us, tz=Mars/X] that can't be read"),
    "duration": (pa.array([5], pa.duration("us")), "JSON has no timedelta"),
    "JSON in a list": (listed(extension(pa.json_(), ['{"a":1,"a":2}'])), "the key 'a' is given twice"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_json_can_not_say_is_a_bad_row_by_name(tmp_path: Path, kind: str) -> None:
    column, told = REFUSED[kind]
    bad, none = rows_of(tmp_path, pa.chunked_array([column, pa.nulls(1, column.type)]))
    assert bad.fields is None and bad.problem.startswith("blob: ") and told in bad.problem
    assert none.fields == {}


class Sale(Task):
    blob: float = 0.0
    count: int = 0


class Shop(Environment[Sale, None]):
    pass


def test_decimals_are_taken_for_fields_of_numbers(tmp_path: Path) -> None:
    columns = {"blob": pa.array([Decimal("1.50")]), "count": pa.array([Decimal(7)], pa.decimal128(38, 0))}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    [row] = TaskFile(tmp_path / "rows.parquet").rows()
    task = task_of(row, Shop())
    assert isinstance(task, Sale) and (task.blob, task.count) == (1.5, 7)


def test_columns_of_a_row_group_are_not_held_whole(tmp_path: Path) -> None:
    letters = np.random.default_rng(0).integers(97, 123, (5000, 10_000), np.uint8)
    texts = pa.array([row.tobytes().decode() for row in letters])
    pq.write_table(pa.table({"q": texts}), tmp_path / "rows.parquet", compression="none", use_dictionary=False)
    del texts
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in plain_rows(tmp_path / "rows.parquet")]
    assert len(held) == 5000 and max(held) < 25 * 2**20
