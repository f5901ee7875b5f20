"""Scores answers to open-ended prompts by a reward model: a number each, or comparisons within a group."""

from ray_gym.envs.reward_model.environment import OpenEnded

__all__ = ["OpenEnded"]
