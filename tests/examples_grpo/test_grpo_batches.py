"""Checks that a step has the groups of its numbers, in whatever order the stream gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.grpo.batches import Batches
from ray_gym.errors import RunFailed
from ray_gym.models.versions import Versions
from ray_gym.stream import Group
from ray_gym.stream.cursor import Cursor, Progress

SIZE = 3


class Delivered:
    """Delivers groups in a given order, with the stream's own cursor. A dropped group is settled when its turn comes."""

    location = "runs/delivered"

    def __init__(self, order: list[int], dropped: set[int], progress: Progress) -> None:
        self._order = iter(order)
        self._dropped = dropped
        self._progress = progress
        self.delivered: list[int] = []

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        for number in self._order:
            if number in self._dropped:
                self._progress.settle([number])
                continue
            self._progress.note_delivered(number, number + 1)
            self.delivered.append(number)
            return Group(number, f"g{number}", f"t{number}", 0, None)
        raise StopIteration

    def acknowledge(self, *groups: Group) -> None:
        for group in groups:
            self._progress.acknowledge(group.number)

    @property
    def cursor(self) -> dict[str, Any]:
        return self._progress.cursor(Versions()).as_json()


def test_a_step_all_of_whose_groups_were_dropped_says_where_to_look() -> None:
    stream = Delivered(list(range(9)), {0, 1, 2}, Progress("s"))
    with pytest.raises(RunFailed, match="groups 0 to 2 were dropped; runs/delivered/dropped"):
        Batches(stream, SIZE).take(0)


@given(st.permutations(range(5 * SIZE)), st.sets(st.integers(0, 4 * SIZE - 1), max_size=SIZE - 1), st.integers(0, 3))
def test_each_group_is_in_the_step_of_its_number_also_after_a_restart(
    order: list[int], dropped: set[int], killed_before: int
) -> None:
    order = [*order, *range(5 * SIZE, 8 * SIZE)]
    progress = Progress("s")
    stream = Delivered(order, dropped, progress)
    batches, steps = Batches(stream, SIZE), list[list[int]]()
    for step in range(4):
        if step == killed_before:  # what was taken and not acknowledged comes again, in another order
            progress = Progress.at(Cursor.parse(stream.cursor))
            left = [number for number in sorted(order) if not progress.is_settled(number)]
            stream = Delivered(left, dropped, progress)
            batches = Batches(stream, SIZE)
        groups = batches.take(step)
        stream.acknowledge(*groups)
        steps.append([group.number for group in groups])
    expected = [[n for n in range(step * SIZE, (step + 1) * SIZE) if n not in dropped] for step in range(4)]
    assert steps == expected
