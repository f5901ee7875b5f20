"""Asks mathematical problems with one answer: a library checks it, and a judge where the library can't tell."""

from ray_gym.envs.math.environment import Mathematics

__all__ = ["Mathematics"]
