"""Takes means over episodes, of which those of one task are alike.

The standard error is clustered by task (Miller 2024, arXiv 2411.00640, section 2.2), with the factor G / (G - 1) for few
tasks, and the interval takes Student's t with G - 1 degrees of freedom, where G is the number of tasks (Cameron and
Miller 2015, section VI.D). Without these two an interval of twenty tasks is too narrow. A t interval was taken rather
than a bootstrap over tasks, which needs more tasks to be as good, and draws random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.regression.linear_model import OLS  # statsmodels.api takes half a second more

from ray_gym.statistics.interval import LEVEL, Interval

Tasks: TypeAlias = Sequence[Any] | NDArray[Any]
"""Task of each episode: anything that can be compared, of the same length as the values."""
ROUNDING = 1e-9
"""Difference, relative to the largest value, up to which values are equal but for rounding."""
ONE_TASK = "one task only, and other tasks may differ from it by any amount"


@np.errstate(over="ignore", invalid="ignore")  # a remark says it
def mean_over_tasks(values: ArrayLike, tasks: Tasks, level: float = LEVEL) -> Interval:
    """Returns the mean of episodes' values (float [n], finite), with an interval for the mean over more such tasks.

    `tasks`: task of each episode. Where all values are equal but for `ROUNDING`, the interval has no width: they show no spread to take it
    from. Errors: ValueError without values, or for another number of tasks than of values.
    """
    given = np.asarray(values, dtype=np.float64)
    if not len(given) or len(given) != len(tasks):
        raise ValueError(f"{len(given)} values of {len(tasks)} episodes")
    codes = codes_of(tasks)
    mean, count = float(given.mean()), int(codes.max()) + 1
    if count < 2:
        return Interval(mean, None, None, None, len(given), count, ONE_TASK)
    if np.ptp(given) <= ROUNDING * np.abs(given).max():
        return Interval(mean, 0.0, mean, mean, len(given), count)
    fitted = OLS(given, np.ones(len(given))).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    low, high = fitted.conf_int(alpha=1 - level)[0]
    return Interval(mean, float(fitted.bse[0]), float(low), float(high), len(given), count)


def codes_of(tasks: Tasks) -> NDArray[np.int64]:
    """Returns the number of each episode's task, from 0: int64 [n]."""
    if isinstance(tasks, np.ndarray):
        return np.unique(tasks, return_inverse=True)[1].astype(np.int64)
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(task, len(numbers)) for task in tasks], dtype=np.int64)
