"""Compares two runs of the same tasks, task by task.

Pairing takes the tasks' own difficulty out of the difference (Miller 2024, arXiv 2411.00640, section 4.1). Each task that
both have counts once, whatever the number of its episodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from ray_gym.statistics.interval import LEVEL, Interval
from ray_gym.statistics.means import mean_over_tasks

POWER = 0.8
"""Chance with which the least effect would have been found."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Says how a second run differs from a first one."""

    interval: Interval
    """Second less first, over the tasks of both."""
    p: float | None
    """Chance of a difference at least as large if there is none; None without an interval, or if all tasks differ by
    the same amount: then there is no spread to judge it by."""
    least_effect: float | None
    """Least difference that this many tasks would have shown, with a chance of `POWER`; None where the tasks'
    differences show no spread."""
    left_out: int
    """Number of the tasks that only one run has."""


Values = Sequence[tuple[Hashable, float]]
"""Task and value of each episode of a run."""


def difference(first: Values, second: Values, level: float = LEVEL) -> Difference:
    """Returns how the mean over tasks of the second run differs from the first's. Errors: ValueError if they have no
    task in common.
    """
    before, after = _by_task(first), _by_task(second)
    both = [task for task in before if task in after]
    if not both:
        raise ValueError("the two runs have no task in common")
    changes = np.array([after[task] - before[task] for task in both])
    interval = mean_over_tasks(changes, both, level)
    left_out = len(before.keys() ^ after.keys())
    if not interval.se:
        return Difference(interval, None, None, left_out)
    degrees = len(both) - 1
    p = float(2 * stats.t.sf(abs(interval.value) / interval.se, degrees))
    quantiles = stats.t.ppf([1 - (1 - level) / 2, POWER], degrees)
    return Difference(interval, p, float(quantiles.sum() * interval.se), left_out)


def flips(first: Values, second: Values) -> tuple[int, int, float]:
    """Returns how many tasks are a hit in the second run only, and in the first only, and McNemar's exact p (McNemar
    1947). Errors: ValueError for a task that has several episodes in a run, or a value that is neither 0 nor 1.
    """
    before, after = dict(first), dict(second)
    if len(before) < len(first) or len(after) < len(second):
        raise ValueError("McNemar's test takes one episode of each task")
    if not {*before.values(), *after.values()} <= {0, 1}:
        raise ValueError("McNemar's test takes values that are 0 or 1")
    both = [task for task in before if task in after]
    gained = sum(after[task] > before[task] for task in both)
    lost = sum(after[task] < before[task] for task in both)
    return gained, lost, float(mcnemar([[0, gained], [lost, 0]], exact=True).pvalue)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Returns p-values of several comparisons, adjusted so that the chance of any false one stays (Holm 1979)."""
    return [float(p) for p in multipletests(list(p_values), method="holm")[1]] if len(p_values) else []


def _by_task(values: Values) -> dict[Hashable, float]:
    found: dict[Hashable, list[float]] = defaultdict(list)
    for task, value in values:
        found[task].append(value)
    return {task: float(np.mean(of_task)) for task, of_task in found.items()}
