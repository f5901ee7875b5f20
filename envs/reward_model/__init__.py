"""Open-ended prompts, scored by a reward model: a number for each answer, or comparisons within a group."""

from ray_gym.envs.reward_model.environment import OpenEnded

__all__ = ["OpenEnded"]
