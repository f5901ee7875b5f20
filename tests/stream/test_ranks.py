"""Ranks share groups out evenly, whatever is dropped, and a cursor gives each rank the same groups again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.errors import UserError
from ray_gym.models.versions import Versions
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.ranks import RankIsTaken, Ranks, check_rank


def group(number: int, commit: int = 1) -> FinishedGroup:
    return FinishedGroup(number, f"{number}-", "t", commit, "f", 0, 2, 2, 0)


def begin(world_size: int = 3) -> Ranks:
    return Ranks.at(Cursor(stream="s"), world_size)


def resumed(ranks: Ranks, world_size: int = 3) -> Ranks:
    """Returns the ranks of the next life, from a cursor that went through JSON."""
    return Ranks.at(Cursor.parse(json.loads(json.dumps(ranks.cursor(Versions()).as_json()))), world_size)


def test_ranks_take_turns() -> None:
    ranks = begin()
    assert [ranks.assign(group(number)) for number in (4, 0, 1, 3, 2)] == [0, 1, 2, 0, 1]
    assert ranks.assign(group(1)) == 2, "it is decided once"


def test_a_dropped_group_counts_for_nobody() -> None:
    ranks = begin()
    for number in range(6):
        ranks.assign(group(number))
    ranks.drop(1, is_flat=False)
    ranks.drop(4, is_flat=False)
    assert [ranks.assign(group(number)) for number in (6, 7, 8)] == [1, 1, 0], "rank 1 gets what it has lost first"


def test_groups_that_nobody_was_given_may_be_dropped() -> None:
    ranks = begin()
    ranks.drop(0, is_flat=True)
    assert ranks.cursor(Versions()).next == 1 and ranks.cursor(Versions()).flat == 1 and ranks.counts == [0, 0, 0]


@given(st.lists(st.sampled_from(["assign", "acknowledge", "drop"]), max_size=60), st.data())
def test_whatever_happens_each_group_is_settled_once_and_comes_to_the_same_rank(
    steps: list[str], data: st.DataObject
) -> None:
    ranks, rank_of, settled = begin(), dict[int, int](), set[int]()
    for step in steps:
        if step == "assign":
            rank_of[len(rank_of)] = ranks.assign(group(len(rank_of), commit=len(rank_of) // 2 + 1))
        elif left := sorted(rank_of.keys() - settled):
            number = data.draw(st.sampled_from(left))
            settled.add(number)
            ranks.acknowledge(number) if step == "acknowledge" else ranks.drop(number, is_flat=False)
    cursor = ranks.cursor(Versions())
    assert {number for number in rank_of if cursor.is_settled(number)} == settled
    assert all(number in settled for number in rank_of if number // 2 + 1 <= cursor.commit)
    again, fresh = resumed(ranks), len(rank_of)
    for number in sorted(rank_of.keys() - settled):
        assert again.assign(group(number)) == rank_of[number]
    assert [again.assign(group(fresh + n)) for n in range(4)] == [ranks.assign(group(fresh + n)) for n in range(4)]


def test_the_ranks_of_a_cursor_count_for_as_many_only() -> None:
    ranks = begin()
    for number in range(4):
        ranks.assign(group(number))
    ranks.acknowledge(1)
    again = resumed(ranks, world_size=2)
    assert again.counts == [0, 0] and [again.assign(group(number)) for number in (0, 2, 3)] == [0, 1, 0]
    assert again.progress.is_settled(1)


def test_a_rank_joins_once_until_it_leaves() -> None:
    ranks = begin()
    ranks.join(1, 3)
    with pytest.raises(RankIsTaken, match="rank: 1 has joined the stream already: give each process a rank of its own"):
        ranks.join(1, 3)
    ranks.leave(1)
    ranks.join(1, 3)
    with pytest.raises(UserError, match="world_size: 4 at rank 2, but rank 0 has opened the stream for 3"):
        ranks.join(2, 4)


@pytest.mark.parametrize(
    ("rank", "world_size", "told"),
    [
        (3, 3, "rank: 3, but with a world_size of 3 it is from 0 to 2"),
        (-1, 2, "rank: -1"),
        (0, 0, "world_size: 0, but it is at least 1"),
    ],
)
def test_what_is_no_rank(rank: int, world_size: int, told: str) -> None:
    with pytest.raises(UserError, match=told):
        check_rank(rank, world_size)


@pytest.mark.parametrize("given", [[[1]], [[1, 3]], [[1, -1]]])
def test_a_cursor_names_ranks_that_there_are(given: Any) -> None:
    with pytest.raises(UserError, match="given"):
        Cursor.parse({"stream": "s", "ranks": [1, 1, 1], "given": given})
