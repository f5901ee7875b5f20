"""Delivers finished groups to a trainer in the trainer's own process.

The groups that are played ahead of the trainer are bounded in number. An acknowledged group never comes again.
"""

from ray_gym.stream.group import Group
from ray_gym.stream.stream import Stream, open_stream

__all__ = ["Group", "Stream", "open_stream"]
