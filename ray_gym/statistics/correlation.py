"""Estimates the correlation of two values of episodes, of which those of one task are alike.

The interval is a jackknife over tasks of Fisher's z (Efron and Tibshirani 1993, chapter 11; Fisher 1921): each task is
left out once, and the spread of the results gives the standard error. So it knows both that episodes of a task are alike,
and that means and spreads are estimates, too. It takes Student's t with G - 1 degrees of freedom, G being the number of
tasks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ray_gym.statistics.interval import LEVEL, Interval
from ray_gym.statistics.means import ONE_TASK, Tasks, codes_of

FEW_TASKS = "fewer than three tasks vary in both"
EXACT = "a straight line through all episodes"


def correlation_over_tasks(
    first: ArrayLike, second: ArrayLike, tasks: Tasks, *, within: bool = False, level: float = LEVEL
) -> Interval | None:
    """Returns Pearson's correlation of two values of episodes (float [n] each), with an interval over tasks; None if one
    of them is the same in all episodes. Its standard error is that of Fisher's z.

    `within`: correlates what is left of both after each task's own mean is taken away. Then it says nothing of hard
    tasks that are long, only of long episodes among those of one task.
    """
    x, y, codes = np.asarray(first, np.float64), np.asarray(second, np.float64), codes_of(tasks)
    count = int(codes.max()) + 1 if len(codes) else 0
    if within:
        x, y = _without_means(x, codes), _without_means(y, codes)
    else:
        x, y = x - x.mean() if len(x) else x, y - y.mean() if len(y) else y
    sums = [np.bincount(codes, values, count) for values in (np.ones(len(x)), x, y, x * x, y * y, x * y)]
    whole = _correlation(*(np.array([one.sum()]) for one in sums), centred=within)[0]
    if np.isnan(whole):
        return None
    value = float(np.clip(whole, -1, 1))
    if count < 2:
        return Interval(value, None, None, None, len(x), count, ONE_TASK)
    left_out = _correlation(*(one.sum() - one for one in sums), centred=within)
    if np.isnan(left_out).any() or count < 3:
        return Interval(value, None, None, None, len(x), count, FEW_TASKS)
    if max(abs(value), *np.abs(left_out)) > 1 - 1e-12:
        return Interval(value, None, None, None, len(x), count, EXACT)
    z, of_each = np.arctanh(value), np.arctanh(left_out)
    se = float(np.sqrt((count - 1) / count * np.square(of_each - of_each.mean()).sum()))
    width = stats.t.ppf(1 - (1 - level) / 2, count - 1) * se
    return Interval(value, se, float(np.tanh(z - width)), float(np.tanh(z + width)), len(x), count)


def _without_means(values: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    means = np.bincount(codes, values) / np.maximum(np.bincount(codes), 1)
    return np.asarray(values - means[codes], dtype=np.float64)


def _correlation(
    n: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    xx: NDArray[np.float64],
    yy: NDArray[np.float64],
    xy: NDArray[np.float64],
    *,
    centred: bool,
) -> NDArray[np.float64]:
    """Returns the correlations that sums over episodes give; NaN where one of the values does not vary."""
    n = np.maximum(n, 1)
    of_x, of_y, both = (xx, yy, xy) if centred else (xx - x * x / n, yy - y * y / n, xy - x * y / n)
    varies = (of_x > 1e-12 * np.maximum(xx, 1e-300)) & (of_y > 1e-12 * np.maximum(yy, 1e-300))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies, both / np.sqrt(of_x * of_y), np.nan)
