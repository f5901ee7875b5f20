"""A stream of finished groups that a trainer eats from: in process, bounded, never twice the same."""

from ray_gym.stream.group import Group
from ray_gym.stream.stream import Stream, open_stream

__all__ = ["Group", "Stream", "open_stream"]
