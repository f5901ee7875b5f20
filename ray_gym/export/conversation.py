"""Extracts a participant's own conversation from the events of an episode, as OpenAI chat messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from ray_gym.export.selection import LeftOut

POLICY = "policy"

Chat = list[dict[str, Any]]
"""Chat messages in OpenAI's form."""
ArgumentsAs = Literal["object", "text"]
"""Type of the arguments of tool calls in the output."""

MALFORMED = "conversations with a tool call whose arguments are no JSON object"
"""Reason for which a conversation is left out."""
SILENT = "conversations without a word of the participant's own"
"""Reason for which a conversation is left out."""


def conversation(events: Iterable[dict[str, Any]], participant: str, arguments_as: ArgumentsAs) -> Chat:
    """Returns a participant's conversation as chat messages: those in its own thread, and as messages of the user those
    of others that it heard, up to the last message that it said itself. Its other threads are left out.

    `events`: rows of the episode's events. `arguments_as`: type of the arguments of tool calls: `object`, as chat
    templates need it, or `text`, which has the same type in every line. Errors: LeftOut if the participant said
    nothing, or if the arguments of a call are no JSON object.
    """
    return conversation_in_two(events, participant, arguments_as)[0]


def conversation_in_two(
    events: Iterable[dict[str, Any]], participant: str, arguments_as: ArgumentsAs
) -> tuple[Chat, int]:
    """Returns the conversation of a participant, as `conversation` does, and the number of messages before the first
    one that the participant said itself. Words of the assistant that a task began with are before it.
    """
    found = [(event, message) for event in events if (message := _message(event, participant, arguments_as))]
    while found and found[-1][1]["role"] != "assistant":
        found.pop()
    own = (event["kind"] == "message" and message["role"] == "assistant" for event, message in found)
    begins = next((place for place, is_own in enumerate(own) if is_own), None)
    if begins is None:
        raise LeftOut(SILENT)
    return [message for _, message in found], begins


def _message(event: dict[str, Any], participant: str, arguments_as: ArgumentsAs) -> dict[str, Any] | None:
    """Returns an event as a chat message; None if the participant neither has the event in its own thread nor heard it.
    Errors: LeftOut if the arguments of a call are no JSON object.
    """
    text = "".join(part["text"] for part in event["content"])
    if event["thread"] != participant:
        heard = event["kind"] == "message" and participant in (event["visible_to"] or ())
        return {"role": "user", "content": text} if heard else None
    if not event["role"]:
        return None
    message: dict[str, Any] = {"role": event["role"], "content": text}
    if event["reasoning"]:
        message["reasoning_content"] = event["reasoning"]
    if event["tool_calls"]:
        message["tool_calls"] = [_call(call, arguments_as) for call in event["tool_calls"]]
    if event["tool_call_id"] is not None:
        message["tool_call_id"] = event["tool_call_id"]
    return message


def _call(call: dict[str, str], arguments_as: ArgumentsAs) -> dict[str, Any]:
    arguments = _object(call["arguments"])
    function = {"name": call["name"], "arguments": call["arguments"] if arguments_as == "text" else arguments}
    return {"id": call["id"], "type": "function", "function": function}


def _object(text: str) -> dict[str, Any]:
    """Returns the JSON object that a text holds. Errors: LeftOut if it is none."""
    try:
        read = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise LeftOut(MALFORMED)
    return read


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
