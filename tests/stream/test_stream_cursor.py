"""A cursor says exactly what was settled, and what doesn't fit is refused with the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.errors import UserError
from ray_gym.models.versions import Versions
from ray_gym.stream.cursor import Cursor, Progress


@given(st.permutations(range(12)), st.integers(0, 12), st.data())
def test_whatever_order_groups_are_acknowledged_in(order: list[int], until: int, data: st.DataObject) -> None:
    """Delivered in the order of their files, three groups a file; acknowledged in any order, some not at all."""
    progress, weights = Progress("s"), Versions(0, {"policy": 3, "user": 1})
    commit_of = {number: place // 3 + 1 for place, number in enumerate(order)}
    out: list[int] = []
    settled: set[int] = set()
    for number in order[:until]:
        progress.note_delivered(number, commit_of[number])
        out.append(number)
        for one in data.draw(st.lists(st.sampled_from(out), unique=True)) if out else []:
            progress.acknowledge(one)
            out.remove(one)
            settled.add(one)
    cursor = Cursor.parse(json.loads(json.dumps(progress.cursor(weights).as_json())))
    assert {number for number in range(12) if cursor.is_settled(number)} == settled
    assert all(number in settled for number in order if commit_of[number] <= cursor.commit), (
        "files that are not read again"
    )
    assert Progress.at(cursor).cursor(weights) == cursor
    assert cursor.version == 1 and cursor.weights["policy"] == 3


def test_a_group_is_acknowledged_once() -> None:
    progress = Progress("s")
    progress.note_delivered(0, 1)
    progress.acknowledge(0)
    with pytest.raises(ValueError, match="group 0 was acknowledged already"):
        progress.acknowledge(0)


def test_what_was_dropped_is_settled() -> None:
    progress = Progress("s")
    progress.note_delivered(1, 1)
    progress.settle([0, 0])
    progress.acknowledge(1)
    assert progress.cursor(Versions()) == Cursor(stream="s", next=2)


@pytest.mark.parametrize(
    ("saved", "field"),
    [
        ({}, "cursor.stream"),
        ({"stream": "s", "next": -1}, "cursor.next"),
        ({"stream": "s", "next": "1"}, "cursor.next"),
        ({"stream": "s", "beyond": [1.5]}, "cursor.beyond.0"),
        ({"stream": "s", "next": 3, "beyond": [2]}, "beyond: numbers after next"),
        ({"stream": "s", "place": 1}, "cursor.place"),
        ("17.4", "cursor"),
        (17, "cursor"),
    ],
)
def test_what_is_no_cursor(saved: Any, field: str) -> None:
    with pytest.raises(UserError, match=field):
        Cursor.parse(saved)


@pytest.mark.parametrize("numbers", [[0, 0], [0, 7], [7, 0]])
def test_of_groups_that_cannot_all_be_acknowledged_none_is(numbers: list[int]) -> None:
    progress = Progress("s")
    progress.note_delivered(0, 1)
    with pytest.raises(ValueError, match="acknowledged already, or never delivered"):
        progress.acknowledge(*numbers)
    assert not progress.is_settled(0)
    progress.acknowledge(0)
    assert progress.is_settled(0)
