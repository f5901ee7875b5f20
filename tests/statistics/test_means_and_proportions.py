"""Compares means, proportions and their intervals with values that are worked out by hand, and their coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from simulated import coverage

from ray_gym.statistics.means import mean_over_tasks
from ray_gym.statistics.proportions import effective_size, proportion_over_tasks


def by_hand(values: list[float], tasks: list[Any]) -> tuple[float, float, float]:
    """Returns the mean's clustered standard error and the ends of its t interval, by the sums of residuals by task."""
    mean = np.mean(values)
    sums = [sum(value - mean for value, task in zip(values, tasks, strict=True) if task == one) for one in set(tasks)]
    count = len(sums)
    se = np.sqrt(count / (count - 1) * np.sum(np.square(sums))) / len(values)
    width = stats.t.ppf(0.975, count - 1) * se
    return float(se), float(mean - width), float(mean + width)


@pytest.mark.parametrize(
    ("values", "tasks"),
    [
        ([1, 0, 1, 1, 0, 0], ["a", "a", "b", "b", "c", "c"]),
        ([0.25, 1, 0, 0.5, -3, 2, 2], ["a", "b", "b", "b", "c", "d", "d"]),
        ([1, 0, 0, 1], [1, 2, 3, 4]),
        ([1, 1, 0, 0], ["a", "a", "b", "b"]),
    ],
)
def test_the_standard_error_is_clustered_by_task(values: list[float], tasks: list[Any]) -> None:
    found = mean_over_tasks(values, tasks)
    assert (found.se, found.low, found.high) == pytest.approx(by_hand(values, tasks))
    assert found.value == pytest.approx(np.mean(values)) and (found.episodes, found.tasks) == (
        len(values),
        len(set(tasks)),
    )


def test_with_one_episode_a_task_it_is_the_usual_interval() -> None:
    values = [0.1, 0.5, 0.4, 0.9, 0.3]
    found, usual = mean_over_tasks(values, range(5)), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((usual.low, usual.high))


def test_one_task_has_no_interval_and_says_why() -> None:
    for estimate in (mean_over_tasks([1, 0], ["a", "a"]), proportion_over_tasks([1, 0], ["a", "a"])):
        assert (estimate.value, estimate.se, estimate.low, estimate.high) == (0.5, None, None, None)
        assert estimate.why_none.startswith("one task only") and not estimate.excludes_zero


def test_values_that_are_all_equal_have_no_width_as_a_mean_and_some_as_a_proportion() -> None:
    assert (mean_over_tasks([1, 1, 1], "abc").low, mean_over_tasks([1, 1, 1], "abc").high) == (1, 1)
    found = proportion_over_tasks([True] * 8, "aabbccdd")
    assert found.high == pytest.approx(1) and found.low == pytest.approx(4 / (4 + stats.norm.ppf(0.975) ** 2))


def test_without_episodes_it_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 values of 0 episodes"):
        mean_over_tasks([], [])
    with pytest.raises(ValueError, match="2 values of 1 episodes"):
        mean_over_tasks([1, 2], ["a"])


def test_episodes_of_a_task_that_are_all_alike_count_once() -> None:
    hits, tasks = np.repeat([1, 0, 1, 1, 0], 8), np.repeat(np.arange(5), 8).tolist()
    assert effective_size(hits, tasks) == 5
    apart = np.tile([1, 0], 20)
    assert effective_size(apart, tasks) == 40, "each task has the same share: no more than its episodes"


def test_wilson_on_the_effective_number_of_episodes() -> None:
    hits = [1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    tasks = list("aaabbbcccddd")
    worth, share, z = effective_size(hits, tasks), 8 / 12, stats.norm.ppf(0.975)
    se, _, _ = by_hand(hits, tasks)
    assert worth == pytest.approx(share * (1 - share) / se**2)
    centre = (share + z**2 / (2 * worth)) / (1 + z**2 / worth)
    half = z / (1 + z**2 / worth) * np.sqrt(share * (1 - share) / worth + z**2 / (4 * worth**2))
    found = proportion_over_tasks(hits, tasks)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half))


@pytest.mark.reading
@pytest.mark.parametrize(("mean", "alike"), [(0.2, 0.5), (0.5, 0.2), (0.8, 0)])
def test_intervals_hold_the_true_mean_about_as_often_as_they_say(mean: float, alike: float) -> None:
    """See `test_coverage` for ten times as many simulations, and further cases."""
    assert coverage(mean, alike, 400) == pytest.approx((0.95, 0.95), abs=0.035)


@pytest.mark.parametrize("tasks", [9, 10, 11, 40])
def test_tasks_with_one_rate_count_all_their_episodes_whatever_the_rounding(tasks: int) -> None:
    hits = [1.0, *[0.0] * 7] * tasks
    assert effective_size(hits, np.repeat(np.arange(tasks), 8)) == 8 * tasks
