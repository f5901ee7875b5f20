"""Asks questions of the procedural datasets of the library Reasoning Gym, which scores the answers."""

from ray_gym.envs.reasoning_gym.environment import ReasoningGym

__all__ = ["ReasoningGym"]
