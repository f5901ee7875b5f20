"""Exports `ray_gym.models.player` by the name that environments import."""

from ray_gym.models.player import Player

__all__ = ["Player"]
