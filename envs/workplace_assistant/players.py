"""Holds a player that knows the calls of its task."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from ray_gym import Message, ToolCall
from ray_gym.envs.workplace_assistant.task import ExpectedCall
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

MESSAGES_OF_ONE_CALL = 4
"""Number of messages with one call. All later calls are one message; with the last words, that makes six steps."""


def player_of_calls(calls: Sequence[ExpectedCall], earlier: int = 0) -> Player:
    """Makes a player that carries out calls.

    It first makes one call in each message, as a model does that needs the answers, up to `MESSAGES_OF_ONE_CALL`, then
    all others at once, and at last it says that it is done.
    `earlier` is the number of the assistant's messages in the task's row.
    """
    messages = [[call] for call in calls[:MESSAGES_OF_ONE_CALL]]
    if rest := list(calls[MESSAGES_OF_ONE_CALL:]):
        messages.append(rest)

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        said = sum(message.role == "assistant" for message in request.messages) - earlier
        if said >= len(messages):
            return Message("assistant", "That is done.")
        return Message("assistant", tool_calls=tuple(_as_tool_call(call, rng) for call in messages[said]))

    return player


def _as_tool_call(call: ExpectedCall, rng: random.Random) -> ToolCall:
    return ToolCall(f"call_{rng.getrandbits(32):08x}", call.name, json.dumps(call.arguments))
