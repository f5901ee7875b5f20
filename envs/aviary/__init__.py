"""Aviary: any environment of that library, with its tools."""

from envs.aviary.environment import Aviary

__all__ = ["Aviary"]
