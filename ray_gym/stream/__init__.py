"""Delivers finished groups to a trainer in its own process: a bounded number ahead, and no group again once
acknowledged.
"""

from ray_gym.stream.group import Group
from ray_gym.stream.stream import Stream, open_stream

__all__ = ["Group", "Stream", "open_stream"]
