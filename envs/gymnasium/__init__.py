"""Plays any environment of the library Gymnasium that can be played by text."""

from ray_gym.envs.gymnasium.environment import GymnasiumEnvironment

__all__ = ["GymnasiumEnvironment"]
