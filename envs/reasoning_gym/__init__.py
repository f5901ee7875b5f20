"""Reasoning Gym: the procedural datasets of that library, scored by the library."""

from ray_gym.envs.reasoning_gym.environment import ReasoningGym

__all__ = ["ReasoningGym"]
