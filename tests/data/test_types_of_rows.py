"""Checks that rows have the types of their fields, and that values which JSON does not have are bad rows."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, RootModel, model_validator

from ray_gym import Environment, Task
from ray_gym.config.sections import TasksSection
from ray_gym.data import parquet
from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.parquet import plain_rows
from ray_gym.data.rows import FileRow, TaskFile
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.mcqa.environment import MultipleChoice
from ray_gym.errors import UserError


class Ware(BaseModel):
    stock: int


class LaxWare(BaseModel):
    model_config = ConfigDict(strict=False)

    stock: int


class OpenWare(BaseModel):
    model_config = ConfigDict(extra="allow")

    stock: int = 0
    inner: Ware | None = None


class CarelessWare(BaseModel):
    model_config = ConfigDict(extra="ignore")

    stock: int = 0


class CarelessWares(RootModel[list[CarelessWare]]):
    pass


@dataclass
class Shelf:
    careless: CarelessWare


class RenamedWare(BaseModel):
    stock: int = 0

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_key(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {"stock" if key == "count" else key: value for key, value in given.items()}


class Size(IntEnum):
    SMALL = 1


class Offer(Task):
    day: datetime.date | None = None
    opens: datetime.time | None = None
    takes: datetime.timedelta | None = None
    size: Size = Size.SMALL
    version: Literal[1] = 1
    versions: tuple[Literal[1, "x"], ...] = ()
    lax_size: Annotated[Size, Field(strict=False)] = Size.SMALL
    list_price: int = 0
    weight: float = 0.0
    is_new: bool = False
    name: str = ""
    wares: tuple[Ware, ...] = ()
    lax: Annotated[int, Field(strict=False)] = 0
    lax_wares: tuple[LaxWare, ...] = ()
    by_sku: dict[str, Ware] = Field(default_factory=dict)
    either: Ware | Size | None = None
    one_of: Ware | CarelessWare | None = None
    open_ware: OpenWare | None = None
    careless: list[CarelessWare] = Field(default_factory=list)
    careless_wares: CarelessWares | None = None
    shelf: Shelf | None = None
    renamed: RenamedWare | None = None
    when: datetime.datetime | None = None
    blob: Any = None
    kinds: set[Any] = Field(default_factory=set)
    embedded: Json[Any] = None
    by_number: dict[int, str] = Field(default_factory=dict)
    by_lower: dict[Annotated[str, AfterValidator(str.lower)], str] = Field(default_factory=dict)


class Shop(Environment[Offer, None]):
    def setup(self, task: Offer, episode: object) -> None: ...


def read(**fields: Any) -> Offer:
    task = task_of(FileRow.given("x:1", 1, fields), Shop())
    assert isinstance(task, Offer)
    return task


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(BadRow) as bad:
        read(weight="heavy", list_price="100", is_new=1, wares=[{"stock": 1, "stok": 1}])
    assert bad.value.problems == [
        "weight: Input should be a valid number, unable to parse string as a number (found 'heavy')",
        "list_price: Input should be a valid integer (found '100')",
        "is_new: Input should be a valid boolean (found 1)",
        "wares.0.stok: unknown key; did you mean 'stock'?",
    ]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"list_price": "100"}, "list_price: Input should be a valid integer (found '100')"),
        ({"list_price": 60.0}, "list_price: Input should be a valid integer (found 60.0)"),
        ({"list_price": True}, "list_price: Input should be a valid integer (found True)"),
        ({"weight": "1.5"}, "weight: Input should be a valid number (found '1.5')"),
        ({"weight": True}, "weight: Input should be a valid number (found True)"),
        ({"by_number": {"1": "a", "01": "b"}}, "by_number.01.[key]: Input should be written as '1' (found '01')"),
        ({"by_lower": {"A": "a", "a": "b"}}, "by_lower: two of its keys stand for the same one (found ['A', 'a'])"),
        ({"kinds": [1, 2, 1.0]}, "kinds: two of its items become the same one (found [1, 2, 1.0])"),
        ({"embedded": '{"a": 1, "a": 2}'}, "embedded: the key 'a' is given twice in the same object"),
        (
            {"when": "2024-01-01T00:00:00.123456789Z"},
            "when: times are kept to the microsecond; round it (found '2024-01-01T00:00:00.123456789Z')",
        ),
        ({"is_new": 1}, "is_new: Input should be a valid boolean (found 1)"),
        ({"is_new": "yes"}, "is_new: Input should be a valid boolean (found 'yes')"),
        ({"wares": [{"stock": 1}, {"stock": "2"}]}, "wares.1.stock: Input should be a valid integer (found '2')"),
    ],
)
def test_other_types_are_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRow) as bad:
        read(**fields)
    assert bad.value.problems == [told]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"wares": [{"stock": 1}, {"stock": 1, "stok": 5}]}, "wares.1.stok: unknown key; did you mean 'stock'?"),
        ({"by_sku": {"a": {"stock": 1, "stok": 5}}}, "by_sku.a.stok: unknown key; did you mean 'stock'?"),
        ({"either": {"stock": 1, "stok": 5}}, "either.Ware.stok: unknown key; did you mean 'stock'?"),
        ({"open_ware": {"inner": {"stock": 1, "x": 5}}}, "open_ware.inner.x: unknown key; known: stock"),
        ({"lax_wares": [{"stock": "1", "stok": 5}]}, "lax_wares.0.stok: unknown key; did you mean 'stock'?"),
        ({"renamed": {"count": 1, "x": 5}}, "renamed.x: unknown key; known: stock"),
    ],
)
def test_unknown_keys_of_nested_models_are_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRow) as bad:
        read(**fields)
    assert told in bad.value.problems


def test_keys_that_a_nested_model_allows_or_ignores_itself_are_taken() -> None:
    task = read(
        open_ware={"stock": 1, "stok": 5},
        careless=[{"stock": 1, "stok": 5}],
        careless_wares=[{"stock": 1, "stok": 5}],
        shelf={"careless": {"stock": 1, "stok": 5}},
        one_of={"stock": 1, "stok": 5},
        renamed={"count": 3},
    )
    assert task.open_ware and task.open_ware.model_extra == {"stok": 5} and task.careless == [CarelessWare(stock=1)]
    assert task.renamed == RenamedWare(stock=3)


@pytest.mark.parametrize(
    "fields",
    [
        {"day": 0},
        {"day": "0"},
        {"when": 0},
        {"when": 1.5},
        {"when": "1700000000"},
        {"when": "-1700000000.5"},
        {"opens": 5},
        {"takes": 5},
        {"size": "1"},
        {"size": True},
        {"size": 1.0},
        {"version": True},
        {"version": 1.0},
        {"versions": ["x", 1, True]},
    ],
)
def test_other_types_for_dates_and_listed_values_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRow) as bad:
        read(**fields)
    [told] = bad.value.problems
    assert told.startswith(next(iter(fields)) + (".2: " if "versions" in fields else ": ")) and "(found " in told


def test_dates_and_listed_values_are_taken() -> None:
    task = read(
        day="2026-01-02",
        when="2026-01-01",
        opens="12:00",
        takes="PT5S",
        size=1,
        version=1,
        versions=["x", 1],
        lax_size=1.0,
    )
    assert (task.size, task.version, task.versions, task.lax_size) == (Size.SMALL, 1, ("x", 1), Size.SMALL)
    assert task.day == datetime.date(2026, 1, 2) and read(day="2026-01-02T00:00:00").day == task.day


def test_what_fits_or_is_declared_lax_is_taken() -> None:
    task = read(
        list_price=3, weight=2, is_new=True, name="x", wares=[{"stock": 1}], lax="7", lax_wares=[{"stock": "3"}]
    )
    assert (task.list_price, task.weight, task.lax, task.lax_wares[0].stock) == (3, 2.0, 7, 3)
    assert read(when="2026-01-01T00:00:00").when == datetime.datetime(2026, 1, 1)


@pytest.mark.parametrize("value", [b"\xff\x00", {"deep": [b"x"]}, {1, 2}, object()])
def test_values_that_json_does_not_have_are_bad_rows(value: Any) -> None:
    with pytest.raises(BadRow, match=r"blob\S*: JSON has no (bytes|set|object)"):
        read(blob=value)


def test_bytes_in_a_parquet_struct_are_a_bad_row_with_its_field(tmp_path: Path) -> None:
    table = pa.table({"name": ["a", "b"], "blob": [{"data": None}, {"data": b"\xff\x01"}]})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(UserError) as told:
        read_tasks(TasksSection(path=str(tmp_path / "rows.parquet")), Shop(), 0, Path())
    assert str(told.value).startswith(f"{tmp_path / 'rows.parquet'} row 1: blob.data: JSON has no bytes")


def test_dates_of_parquet_are_texts(tmp_path: Path) -> None:
    when = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)
    pq.write_table(pa.table({"when": [when], "blob": [{"day": when.date()}]}), tmp_path / "rows.parquet")
    [fields] = plain_rows(tmp_path / "rows.parquet")
    assert fields == {"when": "2026-01-02T03:04:00+00:00", "blob": {"day": "2026-01-02"}} and json.dumps(fields)
    assert read(**fields).when == when


@pytest.mark.parametrize("most", [1, 2, 7, 15])
def test_rows_that_pyarrow_cannot_hold_together_are_read_in_smaller_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The double refuses batches of more than `most` rows, as pyarrow refuses more than 2 GiB of text."""
    names = [f"n{number}" for number in range(2500)]
    pq.write_table(pa.table({"name": names}), tmp_path / "rows.parquet", row_group_size=1100)

    class Small(pq.ParquetFile):
        def iter_batches(self, rows: int, **given: Any) -> Any:
            for number, batch in enumerate(super().iter_batches(rows, **given)):
                if batch.num_rows > most and number:
                    raise pa.ArrowNotImplementedError("chunked array outputs")
                yield batch

    monkeypatch.setattr(parquet.pq, "ParquetFile", Small)
    assert [row["name"] for row in plain_rows(tmp_path / "rows.parquet")] == names


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_large_rows_are_not_held_together(tmp_path: Path, kind: pa.DataType) -> None:
    texts = [letter * 2**20 for letter in "abcdefgh" * 16]
    pq.write_table(pa.table({"name": pa.array(texts, kind)}), tmp_path / "rows.parquet", compression="zstd")
    del texts
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in plain_rows(tmp_path / "rows.parquet")]
    assert len(held) == 128 and max(held) < 64 * 2**20


def test_template_arguments_of_a_row_are_remarked(tmp_path: Path) -> None:
    own = {"chat_template_kwargs": {"enable_thinking": False}}
    rows = [{"responses_create_params": {"input": "Hi.", **own}}, {"name": "x"}, own]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = TaskFile(path)
    assert len(list(file.rows())) == 3
    [(remark, lines)] = file.remarks.items()
    assert remark.startswith("chat_template_kwargs of its own, which are not used") and lines == [1, 3]


def test_settings_of_requests_in_a_row_of_an_environment_are_passed_over(tmp_path: Path) -> None:
    row = {"question": "2+2?", "options": ["3", "4"], "expected_answer": "B"}
    settings = [{"chat_template_kwargs": {"enable_thinking": False}}, {"extra_body": {"top_k": 1}}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row | own) + "\n" for own in [*settings, {"extra_body": "x"}, {"top_k": 1}]))
    file, environment = TaskFile(path), MultipleChoice()
    asked, also, *bad = file.rows()
    assert task_of(asked, environment) == task_of(also, environment)
    assert [remark.partition(" ")[0] for remark in file.remarks] == ["chat_template_kwargs", "extra_body.top_k"]
    for one in bad:
        with pytest.raises(BadRow, match="unknown key"):
            task_of(one, environment)


ODD: dict[str, pa.Array] = {
    "far": pa.array([2**60], pa.timestamp("us")),
    "twice": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())),
    "struct key": pa.array([[({"a": 1}, 1)]], pa.map_(pa.struct([("a", pa.int64())]), pa.int64())),
    "bytes key": pa.array([[(b"\xff", 1)]], pa.map_(pa.binary(), pa.int64())),
    "nested": pa.array([[{"when": 2**60}]], pa.list_(pa.struct([("when", pa.timestamp("us"))]))),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{"])),
}


@pytest.mark.parametrize("kind", ODD)
def test_one_odd_value_is_one_bad_row_with_its_field(tmp_path: Path, kind: str) -> None:
    odd = ODD[kind]
    column = pa.chunked_array([pa.nulls(2, odd.type), odd, pa.nulls(1, odd.type)])
    pq.write_table(pa.table({"name": ["a", "b", "c", "d"], "blob": column}), tmp_path / "rows.parquet")
    rows = list(TaskFile(tmp_path / "rows.parquet").rows())
    assert [row.fields is None for row in rows] == [False, False, True, False]
    assert rows[2].place.endswith("rows.parquet row 2") and rows[2].problem.startswith("blob")
    assert rows[3].fields == {"name": "d"}


NANOSECONDS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "time": (pa.time64("ns"), lambda at: at, "00:00:00.000001"),
    "timestamp": (pa.timestamp("ns"), lambda at: at, "1970-01-01T00:00:00.000001"),
    "zone": (pa.timestamp("ns", "UTC"), lambda at: at, "1970-01-01T00:00:00.000001+00:00"),
    "list": (pa.list_(pa.time64("ns")), lambda at: [0, at], ["00:00:00", "00:00:00.000001"]),
    "struct": (
        pa.struct(
            [
                (
                    "a",
                    pa.large_list(
                        pa.time64("ns"),
                    ),
                )
            ]
        ),
        lambda at: {"a": [at]},
        {"a": ["00:00:00.000001"]},
    ),
    "map": (pa.map_(pa.time64("ns"), pa.int64()), lambda at: [(at, 1)], {"00:00:00.000001": 1}),
    "pair": (pa.list_(pa.time64("ns"), 1), lambda at: [at], ["00:00:00.000001"]),
}


@pytest.mark.parametrize("kind", NANOSECONDS)
def test_nanoseconds_that_python_would_lose_are_a_bad_row(tmp_path: Path, kind: str) -> None:
    """Python's own times have none; those of pandas, which pyarrow takes where it is installed, have."""
    type_, made, read = NANOSECONDS[kind]
    table = {"when": pa.array([made(1000), made(1001), None], type_), "blob": pa.array(["[1]"] * 3, pa.json_())}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    good, bad, none = TaskFile(tmp_path / "rows.parquet").rows()
    assert (good.fields, none.fields) == ({"when": read, "blob": [1]}, {"blob": [1]})
    assert bad.fields is None and bad.problem.startswith("when: a ") and "would lose data: 1001" in bad.problem


def test_times_of_a_dictionary_are_read_as_others(tmp_path: Path) -> None:
    times = pa.array([1000, 1001], pa.timestamp("ns")).dictionary_encode()
    pq.write_table(pa.table({"when": times}), tmp_path / "rows.parquet")
    good, bad = TaskFile(tmp_path / "rows.parquet").rows()
    assert good.fields == {"when": "1970-01-01T00:00:00.000001"} and bad.fields is None


@pytest.mark.parametrize(
    ("key", "read"), [(datetime.date(2026, 1, 2), "2026-01-02"), (Decimal("1.50"), "1.50"), ("a", "a"), (7, 7)]
)
def test_keys_of_maps_are_texts_as_values_are(tmp_path: Path, key: Any, read: Any) -> None:
    maps = pa.array([[(key, 1)]], pa.map_(pa.scalar(key).type, pa.int64()))
    pq.write_table(pa.table({"blob": maps}), tmp_path / "rows.parquet")
    assert [row.fields for row in TaskFile(tmp_path / "rows.parquet").rows()] == [{"blob": {read: 1}}]


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ({"metadata": {"chat_template_kwargs": '{"enable_thinking": false}'}}, ["metadata.chat_template_kwargs"]),
        ({"metadata": {"extra_body": "{}", "note": "x"}}, ["metadata.extra_body"]),
        ({"extra_body": {"chat_template_kwargs": {"a": 1}}}, ["extra_body.chat_template_kwargs"]),
        ({"reasoning": {"effort": "low"}, "top_p": 0.5}, ["reasoning", "top_p"]),
        ({"metadata": {"note": "x"}, "reasoning": None, "tools": [], "extra_body": {}}, []),
    ],
)
def test_settings_of_a_request_that_are_dropped_are_remarked(
    tmp_path: Path, request_: dict[str, Any], named: list[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"responses_create_params": {"input": "Hi", "instructions": "x", **request_}}) + "\n")
    file = TaskFile(path)
    assert len(list(file.rows())) == 1
    assert [remark.partition(" of its own")[0] for remark in file.remarks] == named


class Priced(Task):
    price: float = 0.0
    lax_price: Annotated[float, Field(strict=False)] = 0.0
    prices: tuple[float, ...] = ()
    by_name: dict[str, float] = Field(default_factory=dict)
    price_or_name: float | str = ""
    count: int = 0


class Pricing(Environment[Priced, None]):
    pass


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"price": 10**400}, "price"),
        ({"price": -(10**309)}, "price"),
        ({"prices": [1, 10**400]}, "prices.1"),
        ({"by_name": {"a": 10**400}}, "by_name.a"),
        ({"price_or_name": 10**400}, "price_or_name"),
        ({"lax_price": "1e400"}, "lax_price"),
        ({"lax_price": "inf"}, "lax_price"),
    ],
)
def test_a_number_that_no_float_holds_is_a_bad_row(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRow) as bad:
        task_of(FileRow("rows.jsonl line 1", 0, fields), Pricing())
    problem = bad.value.problems[0]
    assert problem.startswith(field) and "finite number" in problem and len(problem) < 140
    assert task_of(FileRow("rows.jsonl line 1", 0, {"count": 10**400, "price": 10**300}), Pricing())
