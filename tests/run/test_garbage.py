"""Looks for reference cycles are seldom, and never at what was there before play began."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ray_gym.run.worker.garbage import AN_EPISODE, EPISODES, IN_ALL, collect_seldom, freeze_objects


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_is_there_is_not_looked_at_again() -> None:
    mine = [object(), []]
    freeze_objects()
    assert gc.get_freeze_count() > 0 and not any(one is mine for one in gc.get_objects())


def test_more_in_flight_are_looked_at_less_often_up_to_a_bound() -> None:
    thresholds = []
    for concurrency in (1, EPISODES, 100 * EPISODES):
        collect_seldom(concurrency)
        thresholds.append(gc.get_threshold())
    few, many, too_many = thresholds
    assert few[0] < many[0] and many[0] >= AN_EPISODE * EPISODES and too_many == many
    assert all(new * older <= 2 * IN_ALL for new, older, _ in thresholds)
