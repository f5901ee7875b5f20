"""Exports `ray_gym.models.player` under the name by which environments import it."""

from ray_gym.models.player import Player

__all__ = ["Player"]
