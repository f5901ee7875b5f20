"""Takes proportions over episodes, of which those of one task are alike.

Wilson's interval (Wilson 1927) on as many independent episodes as the given ones are worth: their number, divided by
the design effect by task (Kish 1965, section 5.4). On all episodes it would hold the true value in 63 to 83% of cases
where tasks differ much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import proportion_confint

from ray_gym.statistics.interval import LEVEL, Interval
from ray_gym.statistics.means import ONE_TASK, codes_of, mean_over_tasks


def proportion_over_tasks(hits: ArrayLike, tasks: Sequence[Any], level: float = LEVEL) -> Interval:
    """Returns the share of episodes that are hits (bool [n]), with an interval for the share over more such tasks.

    `tasks`: task of each episode. Errors: as `mean_over_tasks`.
    """
    given = np.asarray(hits, dtype=np.float64)
    mean = mean_over_tasks(given, tasks, level)
    if mean.tasks < 2:
        return Interval(mean.value, None, None, None, mean.episodes, mean.tasks, ONE_TASK)
    worth = effective_size(given, tasks)
    low, high = proportion_confint(mean.value * worth, worth, alpha=1 - level, method="wilson")
    return Interval(mean.value, mean.se, float(low), float(high), mean.episodes, mean.tasks)


def effective_size(hits: ArrayLike, tasks: Sequence[Any]) -> float:
    """Returns as how many independent episodes the given ones count: at least one a task, at most one an episode. Where
    all are alike, nothing is known of the tasks' differences, and only the tasks count.
    """
    given = np.asarray(hits, dtype=np.float64)
    mean = mean_over_tasks(given, tasks)
    alone = given.mean() * (1 - given.mean()) / len(given)
    clusters = int(codes_of(tasks).max()) + 1
    if not mean.se or not alone:
        return float(clusters)
    return float(np.clip(len(given) * alone / mean.se**2, clusters, len(given)))
