"""Reasoning Gym: the procedural datasets of that library, scored by the library."""

from envs.reasoning_gym.environment import ReasoningGym

__all__ = ["ReasoningGym"]
