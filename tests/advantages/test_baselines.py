"""Advantages are those of the papers' formulas, done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ray_gym.advantages import group_mean, group_normalised, leave_one_out, raw_rewards

NONE = float("nan")


def of(*rewards: float) -> np.ndarray:
    return np.array(rewards, dtype=np.float64)


def test_the_mean_of_the_group_is_the_baseline() -> None:
    assert group_mean(of(1, 0, 0, 1)).tolist() == [0.5, -0.5, -0.5, 0.5]


def test_the_spread_is_the_samples_or_the_populations() -> None:
    assert group_normalised(of(1, 0), epsilon=0) == pytest.approx([0.5**0.5, -(0.5**0.5)])
    assert group_normalised(of(1, 0), epsilon=0, ddof=0) == pytest.approx([1, -1])
    assert group_normalised(of(1, 0), epsilon=0.5, ddof=0) == pytest.approx([0.5, -0.5])


def test_each_is_compared_with_the_others() -> None:
    assert leave_one_out(of(3, 0, 0)) == pytest.approx([3, -1.5, -1.5])


@pytest.mark.parametrize("baseline", [group_mean, group_normalised, leave_one_out])
def test_equal_rewards_have_no_advantage_to_the_last_bit(baseline: object) -> None:
    assert baseline(of(*[0.1] * 7)).tolist() == [0] * 7  # type: ignore[operator]
    assert baseline(of(0.7)).tolist() == [0]  # type: ignore[operator]


@pytest.mark.parametrize("baseline", [group_mean, group_normalised, leave_one_out])
def test_failed_episodes_are_no_part_of_the_baseline(baseline: object) -> None:
    with_failed = baseline(of(1, NONE, 0, 0))  # type: ignore[operator]
    assert with_failed[1] == 0
    assert with_failed[[0, 2, 3]].tolist() == baseline(of(1, 0, 0)).tolist()  # type: ignore[operator]
    assert baseline(of(NONE, NONE)).tolist() == [0, 0]  # type: ignore[operator]
    assert baseline(of(NONE, 1)).tolist() == [0, 0]  # type: ignore[operator]


def test_raw_rewards_are_themselves() -> None:
    assert raw_rewards(of(2, NONE, -1)).tolist() == [2, 0, -1]
