"""Turns the rewards of one group, which are those of several episodes of the same task, into advantages.

Each function takes rewards as float64 [n] and returns advantages as float64 [n]. A NaN stands for an episode without a
reward (it failed): it is left out of the baseline, and its own advantage is 0. So is that of an episode that is alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rewards = NDArray[np.float64]
Baseline = Callable[[Rewards], Rewards]
"""Function that turns the rewards of one group, float64 [n] with NaN for none, into advantages, float64 [n]."""

EPSILON = 1e-6
"""Number that is added to a group's spread before rewards are divided by it."""


def group_mean(rewards: Rewards) -> Rewards:
    """Returns each reward less the mean of the group (Liu et al. 2025, Dr. GRPO, section 3.2)."""
    known = ~np.isnan(rewards)
    return _spread_out(rewards, known, _centred(rewards[known]))


def group_normalised(rewards: Rewards, *, epsilon: float = EPSILON, ddof: int = 1) -> Rewards:
    """Returns each reward less the mean of the group, divided by the group's standard deviation plus `epsilon`
    (Shao et al. 2024, GRPO, section 4.1).

    `ddof` is 1 for the sample's deviation, as torch's `std` has it, and 0 for the population's, as numpy's.
    """
    known = ~np.isnan(rewards)
    given = rewards[known]
    if len(given) <= ddof:
        return np.zeros(len(rewards))
    return _spread_out(rewards, known, _centred(given) / (given.std(ddof=ddof) + epsilon))


def leave_one_out(rewards: Rewards) -> Rewards:
    """Returns each reward less the mean of the others' of the group (Ahmadian et al. 2024, RLOO, section 3.2)."""
    known = ~np.isnan(rewards)
    given = rewards[known]
    if len(given) < 2:
        return np.zeros(len(rewards))
    return _spread_out(rewards, known, _centred(given) * len(given) / (len(given) - 1))


def raw_rewards(rewards: Rewards) -> Rewards:
    """Returns the rewards as they are (REINFORCE without a baseline, Williams 1992)."""
    return np.nan_to_num(rewards, nan=0.0)


def _centred(given: Rewards) -> Rewards:
    """Returns rewards less their mean. Equal rewards give exactly 0, which a mean that is rounded would not."""
    if not len(given) or (given == given[0]).all():
        return np.zeros(len(given))
    centred: Rewards = given - given.mean()
    return centred


def _spread_out(rewards: Rewards, known: NDArray[np.bool_], advantages: Rewards) -> Rewards:
    """Returns the advantages at the places of the known rewards, and 0 elsewhere."""
    found = np.zeros(len(rewards))
    found[known] = advantages
    return found
