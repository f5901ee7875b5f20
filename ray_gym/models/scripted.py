"""Exports `ray_gym.models.player` under the name that environments import it by."""

from ray_gym.models.player import Player

__all__ = ["Player"]
