"""Simulates runs, and holds what docs/statistics.md says of how often intervals hold the true mean."""

from __future__ import annotations

import re

import pytest
from conftest import REPOSITORY
from simulated import coverage

pytestmark = pytest.mark.docs
SIMULATIONS = 4000
PAGE = (REPOSITORY / "docs" / "statistics.md").read_text()
ROWS = [
    tuple(map(float, found.groups()))
    for found in re.finditer(
        r"^\| (\d+) \| (0\.\d+) \| (0(?:\.\d)?) \| (\d+\.\d)% \| (\d+\.\d)% \|$", PAGE, re.MULTILINE
    )
]
"""Number of tasks, true mean, correlation of a task's episodes, and coverage in per cent of the mean's interval and of the
proportion's."""


@pytest.mark.parametrize(("tasks", "mean", "alike", "of_mean", "of_proportion"), ROWS)
def test_the_page_says_how_often_intervals_hold_the_true_mean(
    tasks: float, mean: float, alike: float, of_mean: float, of_proportion: float
) -> None:
    found = coverage(mean, alike, SIMULATIONS, int(tasks))
    assert found == pytest.approx((of_mean / 100, of_proportion / 100), abs=0.005)
    if tasks == 40 and 0.2 <= mean <= 0.8:
        assert found == pytest.approx((0.95, 0.95), abs=0.02)


def test_the_page_has_all_cases() -> None:
    of_forty = {(mean, alike) for tasks, mean, alike, *_ in ROWS if tasks == 40}
    assert of_forty == {(mean, alike) for mean in (0.02, 0.05, 0.1, 0.2, 0.5, 0.8) for alike in (0, 0.2, 0.5)}
