"""Final states, and the places where two differ."""

from __future__ import annotations

import math
from typing import Any

import pytest
from grading import graded, value, verdicts
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.graders import FinalState
from ray_gym.graders.state import differences


@pytest.mark.parametrize(
    ("actual", "expected", "told"),
    [
        (1, 1.0, []),
        (True, 1, ["the state is True, expected 1"]),
        (0, False, ["the state is 0, expected False"]),
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 1}, ["a should not be there", "b is missing"]),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, ["a.b[1].c is 2, expected 3"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a has 2 entries, expected 1"]),
        ([1, 2], [2, 1, 0], ["the state has 2 entries, expected 3", "[0] is 1, expected 2", "[1] is 2, expected 1"]),
        ((1, 2), [1, 2], []),
        ("ab", ["a", "b"], ["the state is 'ab', expected ['a', 'b']"]),
        ({}, [], ["the state is {}, expected []"]),
        ({"a": None}, {}, ["a should not be there"]),
        (math.nan, float("nan"), []),
        ({"a": math.nan}, {"a": 1}, ["a is nan, expected 1"]),
        ({1: "x"}, {"1": "x"}, ["'1' is missing", "1 should not be there"]),
        ({"a": {None: 1}}, {"a": {"None": 1}}, ["a.'None' is missing", "a.None should not be there"]),
        ({1: {"2": 3}}, {1: {"2": 4}}, ["1.2 is 3, expected 4"]),
    ],
)
def test_every_place_that_differs_is_named(actual: Any, expected: Any, told: list[str]) -> None:
    assert list(differences(actual, expected)) == told


def nested(depth: int, inmost: Any) -> Any:
    for _ in range(depth):
        inmost = {"a": [inmost]}
    return inmost


def test_states_may_be_deep() -> None:
    assert not list(differences(nested(3000, 1), nested(3000, 1)))
    [told] = differences(nested(3000, 1), nested(3000, 2))
    assert told.startswith("a[0].a[0].a[0]") and told.endswith(" is 1, expected 2")


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def same(one: Any, other: Any) -> bool:
    """Says whether two values are the same by the definition, in a way of its own."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


@given(json_like, json_like)
def test_nothing_differs_in_equal_states_only(one: Any, other: Any) -> None:
    assert not list(differences(one, one))
    assert (not list(differences(one, other))) == same(one, other)


async def test_the_verdict_is_all_or_nothing_and_names_a_few_places() -> None:
    assert await value(FinalState({"a": [1]}, {"a": [1]})) == 1
    many = {str(number): number for number in range(8)}
    assert await value(FinalState(many, {**many, "3": 0})) == 0
    [(worth, why)] = verdicts(await graded(FinalState(many, {})))
    assert worth == 0 and why.count("should not be there") == 5 and why.endswith("; and 3 more")
    [(_, why)] = verdicts(await graded(FinalState("x" * 10**6, "y")))
    assert len(why) < 400
