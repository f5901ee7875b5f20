"""Checks that a task whose JSON loses a value is refused before a run, and that what can be kept is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

import numpy as np
import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Json,
    SecretStr,
    computed_field,
    field_serializer,
    field_validator,
)

from ray_gym import Environment, Task
from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.prepared import rows_of
from ray_gym.data.round_trip import lost_values
from ray_gym.data.rows import FileRow
from ray_gym.data.tasks import generate_task, with_ids
from ray_gym.errors import UserError


class Hidden(Task):
    answer: SecretStr


class Excluded(Task):
    answer: str = Field("default", exclude=True)


class Rounded(Task):
    price: float

    @field_serializer("price")
    def _round(self, price: float) -> int:
        return round(price)


class Counted(Task):
    count: int = 0

    @field_validator("count")
    @classmethod
    def _one_more(cls, count: int) -> int:
        return count + 1


class Ware(BaseModel):
    price: int = Field(alias="Price")


class Shop(Task):
    ware: Ware


class Renamed(Task):
    answer: str = Field(alias="Answer")


class Embedded(Task):
    numbers: Json[list[int]]


class Doubled(Task):
    count: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return 2 * self.count


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


class Objects(Task):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    point: Any
    array: Any = None

    @field_validator("point", mode="before")
    @classmethod
    def _read(cls, given: int) -> Point:
        return Point(given)

    @field_serializer("point")
    def _write(self, point: Point) -> int:
        return point.x

    @field_validator("array", mode="before")
    @classmethod
    def _read_array(cls, given: list[int]) -> Any:
        return np.array(given)

    @field_serializer("array")
    def _write_array(self, array: Any) -> Any:
        return array.tolist()


class Held(BaseModel):
    a: float = 0
    answer: str = Field("", exclude=True)


class Holding(Task):
    held: Held = Held()


class Defaults(Task):
    """Has defaults of other types than its fields, as pydantic takes them."""

    weight: float = 0
    sizes: Sequence[float] = ()
    names: Mapping[str, int] = {"a": 1}
    day: date = "2026-01-02"  # type: ignore[assignment]
    drawn: float = Field(default_factory=lambda: 0.5)
    held: Held = Held(answer="kept")
    hidden: str = Field("x", exclude=True)


def environment_of(kind: type[Task]) -> Environment[Any, Any]:
    class Trial(Environment[Any, None]):
        task_type = kind

        def generate(self, rng: Random, index: int) -> Task:
            return kind(answer=SecretStr("42"))  # type: ignore[call-arg]

    return Trial()


def read(kind: type[Task], **fields: Any) -> Task:
    return task_of(FileRow("rows.jsonl line 1", 1, fields), environment_of(kind))


@pytest.mark.parametrize(
    ("kind", "fields", "told"),
    [
        (Hidden, {"answer": "42"}, "answer: it is SecretStr('**********') in the row"),
        (Excluded, {"answer": "42"}, "answer: it is '42' in the row, and 'default' when"),
        (Rounded, {"price": 1.4}, "price: it is 1.4 in the row, and 1.0 when"),
        (Counted, {"count": 1}, "count: it is 2 in the row, and 3 when"),
        (Shop, {"ware": {"Price": 1}}, "ware.Price: missing in the task's own JSON"),
        (Holding, {"held": {"a": 1, "answer": "42"}}, "held.answer: it is '42' in the row, and '' when"),
    ],
)
def test_a_task_that_loses_a_value_is_a_bad_row(kind: type[Task], fields: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRow) as bad:
        read(kind, **fields)
    assert any(problem.startswith(told) for problem in bad.value.problems), bad.value.problems


def test_a_generated_sequence_may_be_a_tuple() -> None:
    assert not lost_values(Defaults(sizes=(1, 2.5), weight=0))


def test_a_generated_task_that_loses_a_value_is_refused() -> None:
    with pytest.raises(UserError, match=r"generated task 0: answer: it is SecretStr"):
        generate_task(environment_of(Hidden), 0, 0)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Renamed, {"Answer": "42"}),
        (Embedded, {"numbers": "[1, 2]"}),
        (Doubled, {"count": 2}),
        (Defaults, {}),
        (Defaults, {"weight": 1, "sizes": [1, 2.5], "names": {"b": 2}, "day": "2026-01-03", "held": {"a": 1}}),
        (Objects, {"point": 1, "array": [1, 2]}),
    ],
)
def test_tasks_are_read_back_from_what_is_recorded_and_prepared(kind: type[Task], fields: dict[str, Any]) -> None:
    task = read(kind, **fields)
    [row] = with_ids([("row 1", task)])
    again = kind.model_validate_json(row.task)
    assert again == task or kind in (Objects, Defaults)
    [prepared] = rows_of([("row 1", task)])
    assert read(kind, **prepared).model_dump(exclude={"task_id"}) or kind is Objects
