"""Checks that rows and arguments of tools take no value for what it is not, wherever in a type it stands."""

from __future__ import annotations

import json
from collections import Counter, deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    Field,
    Json,
    RootModel,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    create_model,
    model_validator,
)
from typing_extensions import TypedDict

from ray_gym import Environment, Task
from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.rows import FileRow
from ray_gym.strict_types import read_strictly
from ray_gym.tools.arguments import ArgumentsByModel, BadArguments


class Size(IntEnum):
    SMALL = 1


class Named(Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value: object) -> Named | None:
        return cls.ONE if value == "one" else None


@dataclass
class Part:
    level: Literal[1, 2] = 1
    size: Size = Size.SMALL
    day: date | None = None
    weight: float = 0.0
    parts: tuple[Part, ...] = ()


class Pair(NamedTuple):
    level: Literal[1] = 1
    when: datetime | None = None


class Written(TypedDict):
    size: Size


class Inner(BaseModel):
    size: Size = Size.SMALL
    count: int = 0


class Level(RootModel[Literal[1, 2]]):
    pass


class Day(RootModel[date]):
    pass


class OfDay(BaseModel):
    value: date


class OfTime(BaseModel):
    value: datetime


class Tree(BaseModel):
    level: int
    trees: tuple[Tree, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _same(cls, given: Any) -> Any:
        return given


Lax = Annotated[int, Field(strict=False)]
SameDay = Annotated[date, BeforeValidator(lambda given: given)]
HUGE = 10**400
WRONG: list[tuple[Any, Any]] = [
    (Part, {"level": True}),
    (Part, {"level": 1.0}),
    (Part, {"size": True}),
    (Part, {"size": 1.0}),
    (Part, {"day": "86400"}),
    (Part, {"weight": HUGE}),
    (Part, {"parts": [{"parts": [{"size": True}]}]}),
    (Pair, {"level": True}),
    (Pair, [1.0]),
    (Pair, {"when": "5"}),
    (Written, {"size": 1.0}),
    (Inner, {"size": True}),
    (Inner, {"count": "1"}),
    (Inner, {"cuont": 1}),
    (Level, True),
    (Level, 1.0),
    (Day, "86400"),
    (set[Literal[1]], [True]),
    (frozenset[Literal[1, 2]], [2.0]),
    (set[datetime], ["5"]),
    (list[timedelta], ["5"]),
    (dict[int, int], {"1.0": 1}),
    (dict[int, int], {"1_0": 1}),
    (dict[int, int], {" 1 ": 1}),
    (dict[int, int], {"01": 1}),
    (dict[date, int], {"86400": 1}),
    (dict[bool, int], {"off": 1}),
    (dict[float, int], {"nan": 1}),
    (dict[Size, int], {"1.0": 1}),
    (dict[str, Size], {"a": True}),
    (Json[Size], "true"),
    (int | Size, 1.0),
    (int | Size, True),
    (Literal[True], 1),
    (Literal[1, "x"], True),
    (Named, True),
    (Size, "1"),
    (date, "86400"),
    (datetime, "5"),
    (datetime, 5),
    (ByteSize, True),
    (ByteSize, 5.0),
    (Decimal, "1_0"),
    (Decimal, " 1 "),
    (Decimal, 0.1234567890123456),
    (list[Decimal], [1, 99999999999999.99]),
    (dict[str, Decimal | None], {"a": 1e15 + 0.5}),
    (float, HUGE),
    (list[float], [1, -HUGE]),
    (float, 2**53 + 1),
    (dict[str, list[float]], {"a": [1, 123456789012345678901234567890]}),
    (float | None, 2**53 + 1),
    (float | str, 2**53 + 1),
    (Annotated[float, Field(ge=0)], 2**53 + 1),
    (Part, {"weight": 2**53 + 1}),
    (dict[float, int], {"9007199254740993": 1}),
    (SameDay, "86400"),
    (Annotated[tuple[int, ...], BeforeValidator(list)], [1, "2"]),
    (Annotated[tuple[Part, ...], BeforeValidator(list)], [{"level": 2, "size": 1.0, "day": "2026-01-02", "weight": 1}]),
]
RIGHT: list[tuple[Any, Any, Any]] = [
    (Part, {"level": 2, "size": 1, "day": "2026-01-02", "weight": 1}, Part(2, Size.SMALL, date(2026, 1, 2), 1.0)),
    (Pair, [1, "2026-01-02T00:00:00"], Pair(1, datetime(2026, 1, 2))),
    (Level, 2, Level(2)),
    (set[Literal[1, "x"]], [1, "x"], {1, "x"}),
    (dict[int, int], {"-10": 1}, {-10: 1}),
    (dict[float, int], {"1": 1, "1.5": 2}, {1.0: 1, 1.5: 2}),
    (dict[bool, int], {"true": 1}, {True: 1}),
    (dict[date, int], {"2026-01-02": 1}, {date(2026, 1, 2): 1}),
    (Json[list[int]], "[1]", [1]),
    (int | Size, 3, 3),
    (Named, "one", Named.ONE),
    (Literal[True], True, True),
    (Decimal, "1.50", Decimal("1.50")),
    (Decimal, 2, Decimal(2)),
    (Decimal, 19.99, Decimal("19.99")),
    (Decimal, 0.123456789012345, Decimal("0.123456789012345")),
    (Decimal, 10**30 + 1, Decimal(10**30 + 1)),
    (Decimal, "0.1234567890123456789", Decimal("0.1234567890123456789")),
    (ByteSize, "1kb", 1000),
    (float, 2**53, 2.0**53),
    (float, -(10**23), -1e23),
    (float, 123456789012345680000, 123456789012345680000.0),
    (list[float], [2**60, 0.5], [2.0**60, 0.5]),
    (float, 2.0**53 + 1, 2.0**53),
    (int | float, 2**53 + 1, 2**53 + 1),
    (int, 2**64 + 1, 2**64 + 1),
    (Any, 2**64 + 1, 2**64 + 1),
    (dict[float, int], {"9007199254740992": 1}, {2.0**53: 1}),
    (Annotated[float, Field(strict=False)], 2**53 + 1, 2.0**53),
    (SameDay, "2026-01-02", date(2026, 1, 2)),
    (Annotated[Size, Field(strict=False)], 1.0, Size.SMALL),
]


def row_read(annotation: Any, given: Any) -> Any:
    class Trial(Environment[Any, None]):
        task_type = create_model("Trial", __base__=Task, x=(annotation, ...))

    return task_of(FileRow("rows.jsonl line 1", 1, {"x": given}), Trial()).x  # type: ignore[attr-defined]


def argument_read(annotation: Any, given: Any) -> Any:
    model = create_model("trial_arguments", __config__={"extra": "forbid"}, x=(annotation, ...))
    return ArgumentsByModel(model).read(json.dumps({"x": given}))["x"]


@pytest.mark.parametrize(("annotation", "given"), WRONG)
def test_a_row_with_a_value_that_stands_for_another_is_refused(annotation: Any, given: Any) -> None:
    with pytest.raises(BadRow) as bad:
        row_read(annotation, given)
    assert all(problem.startswith("x") for problem in bad.value.problems)


@pytest.mark.parametrize(("annotation", "given"), WRONG)
def test_an_argument_that_stands_for_another_is_refused(annotation: Any, given: Any) -> None:
    with pytest.raises(BadArguments, match=r"^x|number out of range"):
        argument_read(annotation, given)


@pytest.mark.parametrize(("annotation", "given", "value"), RIGHT)
def test_values_of_the_declared_types_are_taken(annotation: Any, given: Any, value: Any) -> None:
    assert row_read(annotation, given) == value
    assert argument_read(annotation, given) == value


NAMES = (
    *("type", "metadata", "serialization", "config", "cls", "function", "default", "expected", "members"),
    *("strict", "fields", "choices", "definitions", "keys_schema", "ref"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_any_name_is_read_as_strictly(name: str) -> None:
    inner = create_model("Inner", **{name: (Literal[1, 2], 1)})  # type: ignore[call-overload]
    tagged = create_model("Tagged", kind=(Literal[name], ...), x=(Literal[1, 2], 1))
    other = create_model("Other", kind=(Literal["other"], ...))
    of_kinds = Annotated[tagged | other, Field(discriminator="kind")]
    listed = TypedDict("listed", {name: dict[int, str]})  # type: ignore[misc]
    model = create_model("Trial", a=(inner, ...), b=(of_kinds, ...), c=(listed, ...), **{name: (float, 0.5)})  # type: ignore[call-overload]

    def refused(a: Any, x: Any, key: str, number: Any) -> list[Any]:
        row = {"a": {name: a}, "b": {"kind": name, "x": x}, "c": {name: {key: "x"}}, name: number}
        return [problem["loc"][0] for problem in read_strictly(json.dumps(row), model)[1]]

    assert refused(2, 2, "1", 1.5) == []
    assert set(refused(True, True, "01", 2**53 + 1)) == {"a", "b", "c", name}


COLLECTIONS: list[tuple[Any, Any, Any]] = [
    (set[int], [1, 2], [True]),
    (frozenset[int], [1], ["1"]),
    (deque[int], [1], ["1"]),
    (tuple[int, str], [1, "x"], ["1", "x"]),
    (list[tuple[int, int]], [[1, 2]], [["1", 2]]),
    (dict[str, set[int]], {"a": [1]}, {"a": ["1"]}),
    (Counter[str], {"a": 1}, {"a": "1"}),
    (Tree, {"level": 1, "trees": [{"level": 2}]}, {"level": 1, "trees": [{"level": 2, "trees": [{"level": "3"}]}]}),
]


def same(given: Any) -> Any:
    return given


def handled(given: Any, handler: Any) -> Any:
    return handler(given)


@pytest.mark.parametrize(("annotation", "right", "wrong"), COLLECTIONS)
@pytest.mark.parametrize("of", ["field", "model"])
@pytest.mark.parametrize("mode", ["before", "wrap"])
def test_what_a_function_gives_is_read_as_strictly(mode: Any, of: str, annotation: Any, right: Any, wrong: Any) -> None:
    function: Any = {"before": same, "wrap": handled}[mode]
    validator = {"before": BeforeValidator, "wrap": WrapValidator}[mode](function)
    validators: Any = {"whole": model_validator(mode=mode)(function)} if of == "model" else {}
    field = annotation if of == "model" else Annotated[annotation, validator]
    model = create_model("Trial", __validators__=validators, x=(field, ...))
    assert not read_strictly(json.dumps({"x": right}), model)[1]
    problems = read_strictly(json.dumps({"x": wrong}), model)[1]
    assert problems and problems[0]["loc"][0] == "x"


@pytest.mark.parametrize("annotation", [Lax | None, list[Lax] | Lax, dict[str, Lax] | Lax])
def test_a_lax_type_within_another_is_lax(annotation: Any) -> None:
    read, problems = read_strictly('{"x": "3"}', create_model("Trial", x=(annotation, ...)))
    assert read.x == 3 and not problems  # type: ignore[attr-defined]


def test_what_a_function_gives_is_told_the_fields_beside_it() -> None:
    def third(given: int, info: ValidationInfo) -> int:
        return given + info.data["x"]

    kind = Annotated[int, AfterValidator(third), BeforeValidator(same)]
    read, problems = read_strictly('{"x": 1, "y": 2}', create_model("Trial", x=(int, ...), y=(kind, ...)))
    assert (read.y, problems) == (3, [])  # type: ignore[attr-defined]


@pytest.mark.parametrize(("collection", "value"), [(tuple[int, ...], (1, 2)), (list[int], [1, 2])])
def test_a_list_that_a_function_gives_is_read_once(collection: Any, value: Any) -> None:
    """Checks it as a second reading of each row takes a third of the time of `data validate`."""
    seen: list[Any] = []
    counted = Annotated[collection, BeforeValidator(lambda given: seen.append(given) or given)]
    model = create_model("Trial", x=(counted, ...))
    read, problems = read_strictly('{"x": [1, 2]}', model)
    assert read.x == value and not problems  # type: ignore[attr-defined]
    assert seen == [[1, 2]]
    with pytest.raises(ValidationError):
        read_strictly('{"x": "12"}', model)
    assert read_strictly('{"x": [1, true]}', model)[1]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (str | Decimal, "007"),
        (Decimal | str, "1e5"),
        (str | date, "2024-01-01"),
        (str | timedelta, "10:30"),
        (date | datetime, "2024-01-01T00:00:00+02:00"),
        (date | datetime, "2024-01-01"),
        (datetime | date, "2024-01-01"),
        (datetime | time, "10:30:00"),
        (str | int | float | Decimal | None, "1e5"),
        (float | Literal[1], 1),
        (int | float | Decimal, 1.5),
        (bool | Decimal, True),
        (Size | int, 1),
        (date | str, "2024-01-01T00:00:00"),
        (datetime | str, "2024-01-01"),
        (list[date] | list[datetime], ["2024-01-01T00:00:00"]),
        (list[datetime] | list[date], ["2024-01-01"]),
        (list[str] | list[Decimal], ["007"]),
        (dict[str, str] | dict[str, date], {"a": "2024-01-01"}),
        (list[Decimal] | list[int], [1]),
        (list[Decimal] | list[float], [1.5]),
        (list[Size] | list[int], [1]),
        (dict[int, int] | dict[str, int], {"1": 1}),
        (OfDay | OfTime, {"value": "2024-01-01T00:00:00"}),
        (list[OfDay | OfTime], [{"value": "2024-01-01T00:00:00"}]),
        (Annotated[date, AfterValidator(same)] | datetime, "2024-01-01T00:00:00"),
        (str | Annotated[date, BeforeValidator(same)], "2024-01-01"),
    ],
)
def test_a_union_takes_the_type_that_pydantic_takes(kind: Any, given: Any) -> None:
    model = create_model("Made", v=(kind, ...))
    text = json.dumps({"v": given})
    read, refused = read_strictly(text, model)
    meant = model.model_validate_json(text, strict=True)
    assert not refused and (type(read.v), read.v) == (type(meant.v), meant.v)  # type: ignore[attr-defined]
    assert json.loads(read.model_dump_json()) == json.loads(meant.model_dump_json())


DAY_FIRST = Annotated[date | datetime, Field(union_mode="left_to_right")]


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (date | int | None, "2024-01-01T00:00:00", date(2024, 1, 1)),
        (datetime | float, "2024-01-01", datetime(2024, 1, 1)),
        (DAY_FIRST, "2024-01-01T00:00:00", date(2024, 1, 1)),
        (list[date] | list[Decimal], ["86400"], [Decimal(86400)]),
        (datetime | Size, 1, Size.SMALL),
        (SameDay | Annotated[datetime, BeforeValidator(same)], "2024-01-01T00:00:00", datetime(2024, 1, 1)),
    ],
)
def test_a_row_is_read_on_a_worker_as_the_driver_reads_it(kind: Any, given: Any, value: Any) -> None:
    read = row_read(kind, given)
    assert (type(read), read) == (type(value), value)
    assert argument_read(kind, given) == value


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (list[date] | list[datetime], ["1"], "x.list[datetime].0: "),
        (Annotated[date, AfterValidator(same)] | datetime, "1", "x.datetime: "),
        (list[Size] | str, [1.0], "x.list[int-enum[Size]].0: "),
        (dict[str, Decimal] | Decimal, {"a": "1_0"}, "x.dict[str,decimal].a: "),
        (str | Tree | SameDay, 1, "x.Tree: "),
    ],
)
def test_places_in_a_union_have_the_names_of_its_types(kind: Any, given: Any, told: str) -> None:
    with pytest.raises(BadArguments) as bad:
        argument_read(kind, given)
    assert told in str(bad.value) and "read()" not in str(bad.value)
