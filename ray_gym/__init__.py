"""ray_gym: Ray-distributed rollouts for multi-turn reinforcement learning of language models.

What an environment author and a trainer import; everything else is reached through the command line.
"""

from ray_gym.environment import Environment, Opening, Options, Score, Task
from ray_gym.episode import Episode
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.load import Run, load
from ray_gym.messages import Message, ToolCall, ToolSchema, tool_call_message
from ray_gym.participant import Participant
from ray_gym.tools import IdempotencyKey, Tool, ToolError, tool, tool_by_schema
from ray_gym.turn import Turn

__all__ = [
    "Environment",
    "Episode",
    "EpisodeFailure",
    "FailureKind",
    "IdempotencyKey",
    "Message",
    "Opening",
    "Options",
    "Participant",
    "Run",
    "Score",
    "Task",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolSchema",
    "Turn",
    "load",
    "tool",
    "tool_by_schema",
    "tool_call_message",
]
