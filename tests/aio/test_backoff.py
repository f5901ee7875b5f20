"""Pauses between tries."""

from __future__ import annotations

from ray_gym.aio.backoff import pause_s, pauses


def test_pauses_double_up_to_the_longest() -> None:
    for tried, full_s in [(0, 0.5), (1, 1.0), (5, 16.0), (6, 30.0), (10_000, 30.0)]:
        assert full_s / 2 <= pause_s(tried) <= full_s


def test_pauses_end_where_they_add_up_to_what_was_given() -> None:
    made = list(pauses(0.2, 6.0, 30.0))
    assert sum(made) >= 30.0 > sum(made[:-1])
    assert 0.1 <= made[0] <= 0.2 and max(made) <= 6.0


def test_no_two_callers_come_back_at_the_same_instant() -> None:
    assert len({pause_s(3) for _ in range(100)}) > 90
