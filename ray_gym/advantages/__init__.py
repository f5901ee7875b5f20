"""Exports the functions that turn a group's rewards into advantages, for trainers and for those who look at runs."""

from ray_gym.advantages.baselines import Baseline, group_mean, group_normalised, leave_one_out, raw_rewards
from ray_gym.advantages.samples import Forks, rewards_of, sample_advantages

__all__ = [
    "Baseline",
    "Forks",
    "group_mean",
    "group_normalised",
    "leave_one_out",
    "raw_rewards",
    "rewards_of",
    "sample_advantages",
]
