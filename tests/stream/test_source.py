"""Groups without an end: each is a function of its number, whoever makes it and when."""

from __future__ import annotations

import pytest
from lucky_questions import Ask

from ray_gym.data.tasks import TaskRow
from ray_gym.errors import UserError
from ray_gym.stream.source import GroupSource, number_of

ROWS = tuple(TaskRow(f"t{n}", "{}") for n in range(5))


def source(**changes: object) -> GroupSource:
    given = {"environment": Ask(Ask.Options()), "seed": 1, "repeats": 2, "epoch": 5, "rows": ROWS, **changes}
    return GroupSource(**given)  # type: ignore[arg-type]


def test_an_epoch_has_each_row_once_and_each_epoch_its_own_order() -> None:
    epochs = [[source().make_group(5 * epoch + n)[0].task_id for n in range(5)] for epoch in range(4)]
    assert all(sorted(epoch) == [row.task_id for row in ROWS] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_every_group_and_episode_is_another() -> None:
    specs = [spec for number in range(15) for spec in source().make_group(number)]
    assert len({spec.episode_id for spec in specs}) == 30 and len({spec.group_id for spec in specs}) == 15
    assert len({spec.seed for spec in specs}) == 30


def test_a_group_is_the_same_whenever_it_is_made() -> None:
    late = source().make_group(1_000_003)
    assert late == source().make_group(1_000_003) != source(seed=2).make_group(1_000_003)
    assert {number_of(spec.group_id) for spec in late} == {number_of(spec.episode_id) for spec in late} == {1_000_003}


def test_a_generator_goes_on_for_ever() -> None:
    generated = source(rows=(), epoch=3)
    assert generated.end is None
    assert len({generated.make_group(number)[0].task for number in range(12)}) == 12, "no task comes twice"


def test_epochs_give_an_end() -> None:
    assert source(epochs=3).end == 15


def test_a_generator_that_fails_is_named() -> None:
    class Broken(Ask):
        def generate(self, rng: object, index: int) -> object:  # type: ignore[override]
            raise ZeroDivisionError("no")

    with pytest.raises(
        UserError, match=r"tasks\.generate: the generator failed on task 7: ZeroDivisionError: no \(test_source\.py:"
    ):
        source(rows=(), environment=Broken(Broken.Options())).make_group(7)


@pytest.mark.parametrize("foreign", ["", "abc", "-1", "٣-a"])
def test_ids_of_others(foreign: str) -> None:
    with pytest.raises(ValueError, match="no id of a stream's"):
        number_of(foreign)


def test_nothing_before_a_group_is_made_to_make_it() -> None:
    """A group is made without the groups before it."""
    made: list[int] = []

    class Counting(Ask):
        def generate(self, rng, index):  # type: ignore[no-untyped-def]
            made.append(index)
            return super().generate(rng, index)

    counting = source(rows=(), environment=Counting(Counting.Options()))
    counting.make_group(10**9), counting.make_group(10**9 + 1)
    assert made == [10**9, 10**9 + 1]
