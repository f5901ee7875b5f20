"""ray_gym: Ray-distributed rollouts for multi-turn reinforcement learning of language models.

What an environment author and a trainer import; everything else is reached through the command line.
"""

from typing import TYPE_CHECKING, Any

from ray_gym.environment import Environment, Opening, Options, Score, Task
from ray_gym.episode import Episode
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.load import Run, load
from ray_gym.messages import Message, ToolCall, ToolSchema, tool_call_message
from ray_gym.participant import Participant
from ray_gym.tools import IdempotencyKey, Tool, ToolError, tool, tool_by_schema
from ray_gym.turn import Turn

if TYPE_CHECKING:
    from ray_gym.client import AsyncClient, Client, ServiceError
    from ray_gym.weights.client import Weights
    from ray_gym.weights.transfer_client import TransferClient

__all__ = [
    "AsyncClient",
    "Client",
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
    "ServiceError",
    "Task",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolSchema",
    "TransferClient",
    "Turn",
    "Weights",
    "load",
    "tool",
    "tool_by_schema",
    "tool_call_message",
]


def __getattr__(name: str) -> Any:
    """These bring httpx and Ray Serve along, which take a while to import and which environments don't need."""
    if name in ("AsyncClient", "Client", "ServiceError"):
        from ray_gym import client

        return getattr(client, name)
    if name == "Weights":
        from ray_gym.weights.client import Weights

        return Weights
    if name == "TransferClient":
        from ray_gym.weights.transfer_client import TransferClient

        return TransferClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
