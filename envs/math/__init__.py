"""Asks mathematical problems with one answer: a library checks it, and a judge checks answers not found equal."""

from ray_gym.envs.math.environment import Mathematics

__all__ = ["Mathematics"]
