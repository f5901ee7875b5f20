"""Plays any environment of Future House's library aviary, with the tools that it brings."""

from ray_gym.envs.aviary.environment import Aviary

__all__ = ["Aviary"]
