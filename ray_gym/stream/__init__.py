"""Delivers finished groups to a trainer in the trainer's own process.

The groups that are played ahead of the trainer are bounded in number. An acknowledged group never comes again.
"""

from ray_gym.stream.blocking import BlockingStream
from ray_gym.stream.group import Group
from ray_gym.stream.open_models import OpenModels, open_models, play_tasks
from ray_gym.stream.opening import open_stream
from ray_gym.stream.sampler import TaskRate
from ray_gym.stream.stream import Stream

__all__ = ["BlockingStream", "Group", "OpenModels", "Stream", "TaskRate", "open_models", "open_stream", "play_tasks"]
