"""Simulates runs whose true mean is known, to see how often an interval holds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ray_gym.statistics.means import mean_over_tasks
from ray_gym.statistics.proportions import proportion_over_tasks

EPISODES = 8
"""Number of episodes a task."""


def coverage(mean: float, alike: float, runs: int, tasks: int = 40) -> tuple[float, float]:
    """Returns the shares of intervals of a mean and of a proportion that hold the true mean, over simulated runs.

    `alike`: correlation of a task's episodes; tasks' own means are drawn from a beta distribution.
    """
    rng, codes = np.random.default_rng(0), np.repeat(np.arange(tasks), EPISODES)
    held = np.zeros(2)
    for _ in range(runs):
        hits = simulated_hits(rng, mean, alike, tasks).ravel()
        for place, take in enumerate((mean_over_tasks, proportion_over_tasks)):
            found = take(hits, codes)
            assert found.low is not None and found.high is not None
            held[place] += found.low <= mean <= found.high
    return float(held[0] / runs), float(held[1] / runs)


def simulated_hits(rng: np.random.Generator, mean: float, alike: float, tasks: int) -> NDArray[np.bool_]:
    """Returns whether each episode is a success: bool [tasks, EPISODES]."""
    shape = (1 - alike) / alike if alike else 0.0
    of_tasks = rng.beta(mean * shape, (1 - mean) * shape, tasks) if alike else np.full(tasks, mean)
    return np.asarray(rng.random((tasks, EPISODES)) < of_tasks[:, None])
