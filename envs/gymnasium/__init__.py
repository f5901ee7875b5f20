"""Gymnasium: any of its environments that can be played by text."""

from ray_gym.envs.gymnasium.environment import GymnasiumEnvironment

__all__ = ["GymnasiumEnvironment"]
