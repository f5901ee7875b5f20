"""Checks that a task's JSON has its sets in one order, whichever Python has them in, and that nothing else of it changes."""

from __future__ import annotations

import json
import math
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_serializer

from ray_gym import Task
from ray_gym.data.prepared import rows_of
from ray_gym.data.round_trip import lost_values
from ray_gym.data.validation import content_id
from ray_gym.ordered_sets import has_sets
from ray_gym.task import task_json

WORDS = [f"word {number}" for number in range(9)]


class Tag(BaseModel, frozen=True):
    names: frozenset[str]


class Names(RootModel[set[str]]): ...


@dataclass
class Shelf:
    tags: set[str]


class Sets(Task, extra="allow"):
    model_config = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")

    words: set[str]
    numbers: AbstractSet[float]
    tags: set[Tag]
    nested: frozenset[frozenset[str]]
    lists: list[set[str]] | None
    by_name: dict[str, set[str]]
    pair: tuple[int, set[str]]
    names: Names
    shelf: Shelf
    joined: set[str]
    data: bytes
    count: float = Field(alias="Count")

    @field_serializer("joined")
    def _write(self, joined: set[str]) -> list[int]:
        return [len(joined)]


WRITTEN: dict[str, Any] = {
    "words": WORDS,
    "numbers": [-3.0, 0.5, 2.0, 10.0, 100.0],
    "tags": [{"names": WORDS}, {"names": WORDS[1:]}],
    "nested": [WORDS, WORDS[1:]],
    "lists": [WORDS, []],
    "by_name": {"b": WORDS, "a": []},
    "pair": [1, WORDS],
    "names": WORDS,
    "shelf": {"tags": WORDS},
    "joined": [9],
    "data": "AP8=",
    "count": 2.0,
    "more": ["b", "a"],
}


class Holder(Task):
    shelves: dict[str, list[Shelf]]


class Plain(Task):
    words: list[str]


def task_of(words: list[str], task_id: str | None = None) -> Sets:
    text = json.dumps({**WRITTEN, "joined": words, "words": words, "task_id": task_id})
    return Sets.model_validate_json(text)


def test_sets_are_written_in_order_and_all_else_as_it_is() -> None:
    text = task_json(task_of(WORDS[::-1]))
    assert text == json.dumps({"task_id": None, "system_prompts": {}, "messages": [], **WRITTEN}, separators=(",", ":"))


def test_prepared_rows_and_hashes_of_contents_have_that_order() -> None:
    [row] = rows_of([("row 1", task_of(WORDS[::-1], "a"))])
    assert row == {"task_id": "a", **WRITTEN}
    assert content_id(task_of(WORDS, "a")) == content_id(task_of(WORDS[::-1], "b"))


def test_sets_are_known_by_the_types_of_the_fields() -> None:
    assert has_sets(Sets) and has_sets(Holder) and not has_sets(Plain) and not has_sets(Task)


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    of_words: set[str] = Field(alias="words")
    of_shelves: list[Shelf] = Field(alias="of-shelves")


class HoldsAliased(Task):
    held: Aliased
    by_name: dict[str, Aliased]


def test_sets_are_in_order_where_fields_are_written_by_aliases() -> None:
    held = {"words": WORDS, "of-shelves": [{"tags": WORDS}]}
    task = HoldsAliased.model_validate_json(json.dumps({"held": held, "by_name": {"a": held}}))
    assert json.loads(task_json(task))["held"] == held
    assert json.loads(task_json(task))["by_name"] == {"a": held}


@pytest.mark.parametrize(("mode", "told"), [("constants", "Infinity"), ("strings", '"Infinity"'), ("null", "null")])
@pytest.mark.parametrize("limit", [math.inf, -math.inf])
def test_an_infinity_is_written_as_the_task_says(mode: Any, told: str, limit: float) -> None:
    class Endless(Task):
        model_config = ConfigDict(ser_json_inf_nan=mode)

        limit: float | None = None
        words: set[str]

    task = Endless(limit=limit, words=set(WORDS))
    sign = "-" if limit < 0 and mode != "null" else ""
    assert f'"limit":{told.replace("Inf", f"{sign}Inf")},' in task_json(task)
    assert bool(lost_values(task)) == (mode == "null")
