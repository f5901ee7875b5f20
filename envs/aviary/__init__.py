"""Aviary: any environment of that library, with its tools."""

from ray_gym.envs.aviary.environment import Aviary

__all__ = ["Aviary"]
