"""Compares paired differences and McNemar's test with values that scipy gives for them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ray_gym.statistics.pairs import adjusted, difference, flips

FIRST = [("a", 0.0), ("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 0.5)]
SECOND = [("b", 1.0), ("a", 1.0), ("c", 1.0), ("c", 0.0), ("d", 1.0), ("e", 0.0)]


def test_tasks_are_paired_and_each_counts_once() -> None:
    found = difference(FIRST, SECOND)
    changes = [1 - 0.5, 1 - 0, 0.5 - 1, 1 - 0.5]
    test = stats.ttest_1samp(changes, 0)
    assert found.interval.value == pytest.approx(np.mean(changes)) and found.p == pytest.approx(test.pvalue)
    ends = test.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low, ends.high))
    se = np.std(changes, ddof=1) / 2
    assert found.least_effect == pytest.approx((stats.t.ppf(0.975, 3) + stats.t.ppf(0.8, 3)) * se)
    assert found.left_out == 1


def test_one_common_task_gives_a_difference_and_no_more() -> None:
    found = difference([("a", 0.0)], [("a", 1.0), ("b", 1.0)])
    assert (found.interval.value, found.p, found.least_effect, found.left_out) == (1.0, None, None, 1)
    with pytest.raises(ValueError, match="no task in common"):
        difference([("a", 0.0)], [("b", 0.0)])


@pytest.mark.parametrize(("change", "p"), [(0.0, None), (1.0, None)])
def test_changes_that_are_all_equal(change: float, p: float | None) -> None:
    found = difference([("a", 0.0), ("b", 0.0)], [("a", change), ("b", change)])
    assert (found.interval.value, found.p, found.least_effect) == (change, p, None)


def test_flips_and_their_exact_p() -> None:
    before = [(n, float(n < 12)) for n in range(20)]
    after = [(n, float(2 <= n < 19)) for n in range(20)]
    gained, lost, p = flips(before, after)
    assert (gained, lost) == (7, 2) and p == pytest.approx(stats.binomtest(2, 9, 0.5).pvalue)
    assert flips(before, before) == (0, 0, 1.0)
    with pytest.raises(ValueError, match="one episode of each task"):
        flips(FIRST, SECOND)
    with pytest.raises(ValueError, match="0 or 1"):
        flips([("a", 0.5)], [("a", 1.0)])


def test_p_values_of_several_comparisons() -> None:
    assert adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjusted([]) == []


@pytest.mark.parametrize("count", [12, 24, 40])
def test_changes_that_are_equal_but_for_rounding_have_no_p_value(count: int) -> None:
    before = [(f"t{number}", (0.2, 0.3, 0.5)[number % 3]) for number in range(count)]
    after = [(task, value + 0.1) for task, value in before]
    found = difference(before, after)
    assert (found.p, found.least_effect) == (None, None)
    assert found.interval.low == found.interval.high == pytest.approx(0.1)
