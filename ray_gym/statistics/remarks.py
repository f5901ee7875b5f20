"""Makes warnings about the estimates of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ray_gym.statistics.interval import Interval

NEAR = 0.1
"""Distance from 0 or 1 within which an interval of a reward between 0 and 1 holds the true mean less often than it says.
By simulation it does from 0.2 to 0.8; docs/statistics.md has what it is below."""

FEW = 20
"""Number of tasks below which intervals of skewed values hold the true mean less often than they say; with 10 tasks it
is 87 to 97% for shares from 0.1 to 0.8."""

LARGEST = 1e150
"""Size of a reward above which its square may be more than a float can hold (1.8e308)."""


def remarks_on(rewards: NDArray[np.float64], reward: Interval | None, success: Interval | None) -> list[str]:
    """Returns the warnings for the mean reward and the share of successes of completed episodes."""
    if reward is None or success is None:
        return ["no completed episode has a reward"]
    if reward.low is None:
        return [f"no intervals over tasks: {reward.why_none}"]
    found = []
    if np.abs(rewards).max() > LARGEST:
        found.append(
            f"some rewards are beyond {LARGEST:g}: floats can't hold their squares, so no figure of them counts"
        )
    if reward.tasks < FEW:
        found.append(
            f"only {reward.tasks} tasks: intervals hold the true value less often than 95% (docs/statistics.md)"
        )
    if np.ptp(rewards) == 0:
        found.append("all rewards are equal, so the interval of their mean has no width; that of successes has one")
    elif is_near_bound(reward, rewards):
        found.append(_near("mean reward", reward))
    if 0 < success.value < 1 and _is_near(success.value):
        found.append(_near("share of successes", success))
    return found


def is_near_bound(mean: Interval, rewards: NDArray[np.float64]) -> bool:
    """Says whether the mean of rewards that lie between 0 and 1 is so near to either that its interval is too short."""
    return bool(rewards.min() >= 0 and rewards.max() <= 1) and _is_near(mean.value)


def _is_near(value: float) -> bool:
    return value <= NEAR or value >= 1 - NEAR


def _near(name: str, interval: Interval) -> str:
    bound = 0 if interval.value < 0.5 else 1
    return f"the {name} is near {bound}: its interval holds the true value less often than 95% (docs/statistics.md)"
