"""Checks how far the fan-out may run ahead: never over its bounds, never stuck, and not too stale for a trainer that
takes its batches.
"""

from __future__ import annotations

import random
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from ray_gym.stream.window import Window


def test_what_is_not_acknowledged_is_in_the_way() -> None:
    window = Window(max_open=2)
    window.begin(0)
    assert window.has_room
    window.begin(1)
    window.deliver(0)
    assert not window.has_room
    window.acknowledge(0)
    assert window.has_room


def test_what_is_dropped_is_not_in_the_way() -> None:
    window = Window(max_open=8, max_ahead=1)
    window.begin(0)
    assert not window.has_room
    window.drop(0)
    assert window.has_room


def test_acknowledging_alone_is_no_new_version() -> None:
    window = Window(max_open=8, max_ahead=1)
    window.begin(0)
    window.deliver(0)
    window.acknowledge(0)
    assert not window.has_room
    window.advance()
    assert window.has_room


@given(st.integers(0, 4), st.integers(1, 6), st.booleans(), st.integers(0, 2**32))
def test_no_group_that_is_not_overtaken_is_too_old_in_its_batch(
    staleness: int, batch: int, acknowledges_first: bool, seed: int
) -> None:
    """Some groups are dropped on their way. The fan-out is as fast as it may be, which is the worst case."""
    rng = random.Random(seed)
    window = Window(max_open=1000, max_ahead=(staleness + 1) * batch)
    version, number = 0, 0
    waiting: deque[tuple[int, int]] = deque()

    def fan_out() -> None:
        nonlocal number
        while window.has_room:
            window.begin(number)
            if rng.random() < 0.2:
                window.drop(number)
            else:
                waiting.append((number, version))
            number += 1

    for _ in range(30):
        taken = []
        for _ in range(batch):
            fan_out()
            assert waiting, "the trainer would wait for ever"
            one, begun_at = waiting.popleft()
            window.deliver(one)
            taken.append(one)
            assert version - begun_at <= staleness
        for act in (True, False) if acknowledges_first else (False, True):
            if act:
                for one in taken:
                    window.acknowledge(one)
                    fan_out()
            else:
                version += 1
                window.advance()
                fan_out()
        assert len(window.ahead) <= (staleness + 1) * batch
