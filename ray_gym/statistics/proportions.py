"""Takes proportions over episodes, of which those of one task are alike.

Wilson's interval (Wilson 1927) on as many independent episodes as the given ones are worth: their number, divided by
the design effect by task (Kish 1965, section 5.4). On all episodes it would hold the true value in 63 to 83% of cases
where tasks differ much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import proportion_confint

from ray_gym.statistics.interval import LEVEL, Interval
from ray_gym.statistics.means import ONE_TASK, Tasks, mean_over_tasks


def proportion_over_tasks(hits: ArrayLike, tasks: Tasks, level: float = LEVEL, *, most: int | None = None) -> Interval:
    """Returns the share of episodes that are hits, with an interval for the share over more such tasks.

    `hits`: bool [n], or shares between 0 and 1. `tasks`: task of each episode. `most`: number of episodes that the
    values come from, if it is not n. Errors: as `mean_over_tasks`.
    """
    mean = mean_over_tasks(np.asarray(hits, dtype=np.float64), tasks, level)
    if mean.tasks < 2:
        return Interval(mean.value, None, None, None, mean.episodes, mean.tasks, ONE_TASK)
    value, worth = float(np.clip(mean.value, 0, 1)), _worth(mean, most)
    low, high = proportion_confint(value * worth, worth, alpha=1 - level, method="wilson")
    return Interval(mean.value, mean.se, float(low), float(high), mean.episodes, mean.tasks)


def effective_size(hits: ArrayLike, tasks: Tasks, most: int | None = None) -> float:
    """Returns as how many independent episodes the given ones count: at least one a task, at most one an episode. Where
    all are hits, or none is, nothing is known of the tasks' differences, and only the tasks count.

    The arguments are those of `proportion_over_tasks`.
    """
    return _worth(mean_over_tasks(np.asarray(hits, dtype=np.float64), tasks), most)


def _worth(mean: Interval, most: int | None) -> float:
    alone, most = mean.value * (1 - mean.value), mean.episodes if most is None else most
    if alone <= 0:
        return float(mean.tasks)
    return float(np.clip(alone / mean.se**2, mean.tasks, most)) if mean.se else float(max(mean.tasks, most))
