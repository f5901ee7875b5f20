"""ray_gym runs Ray-distributed rollouts for multi-turn reinforcement learning of language models.

The package exports what an environment author and a trainer import; everything else is reached through the command
line.
"""

from ray_gym.installed.first_folder import refuse_first_folder

refuse_first_folder()  # before any import that a file of the user's may answer

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from ray_gym.load import load  # noqa: E402

if TYPE_CHECKING:
    from ray_gym.client import AsyncClient, Client, ServiceError
    from ray_gym.environment import Environment, Options
    from ray_gym.episode.episode import Episode
    from ray_gym.episode.participant import Participant
    from ray_gym.episode.turn import Turn
    from ray_gym.errors import EpisodeFailure, FailureKind
    from ray_gym.messages import Message, ToolCall, ToolSchema, tool_call_message
    from ray_gym.rendering import Html, Markdown
    from ray_gym.run.directory.reading import Run
    from ray_gym.score import Score
    from ray_gym.stream import open_mixture, open_models, open_stream, play_tasks
    from ray_gym.task import Opening, Task
    from ray_gym.tools.answer import IdempotencyKey, ToolError
    from ray_gym.tools.tool import Tool, tool, tool_by_schema
    from ray_gym.weights.client import Weights
    from ray_gym.weights.transfer_client import TransferClient

__all__ = [
    "AsyncClient",
    "Client",
    "Environment",
    "Episode",
    "EpisodeFailure",
    "FailureKind",
    "Html",
    "IdempotencyKey",
    "Markdown",
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
    "open_mixture",
    "open_models",
    "open_stream",
    "play_tasks",
    "tool",
    "tool_by_schema",
    "tool_call_message",
]


_MODULES = {
    "AsyncClient": "client",
    "Client": "client",
    "Environment": "environment",
    "Episode": "episode.episode",
    "EpisodeFailure": "errors",
    "FailureKind": "errors",
    "Html": "rendering",
    "IdempotencyKey": "tools.answer",
    "Markdown": "rendering",
    "Message": "messages",
    "Opening": "task",
    "Options": "environment",
    "Participant": "episode.participant",
    "Run": "run.directory.reading",
    "Score": "score",
    "ServiceError": "client",
    "Task": "task",
    "Tool": "tools.tool",
    "ToolCall": "messages",
    "ToolError": "tools.answer",
    "ToolSchema": "messages",
    "TransferClient": "weights.transfer_client",
    "Turn": "episode.turn",
    "Weights": "weights.client",
    "open_mixture": "stream",
    "open_models": "stream",
    "open_stream": "stream",
    "play_tasks": "stream",
    "tool": "tools.tool",
    "tool_by_schema": "tools.tool",
    "tool_call_message": "messages",
    "version": "installed.version",
}
"""Modules of the names, which are imported when they are used: what the command line is interrupted in, or misses, is
told in a line then, and environments don't bring httpx and Ray along.
"""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return __getattr__("version")()
    if name in _MODULES:
        return getattr(import_module(f"ray_gym.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
