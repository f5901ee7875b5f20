"""Extracts a participant's own conversation from the events of an episode, as OpenAI chat messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from ray_gym.export.selection import LeftOut
from ray_gym.messages import is_blank, is_no_arguments
from ray_gym.openai_api.items import cut_reason

POLICY = "policy"

Chat = list[dict[str, Any]]
"""Chat messages in OpenAI's form."""
ArgumentsAs = Literal["object", "text", "said"]
"""Type of the arguments of tool calls in the output. `said` is the text as the model gave it, which may be no JSON."""

MALFORMED = "conversations with a tool call whose arguments are no JSON object"
"""Reason for which a conversation is left out."""
NAMELESS = "conversations with a tool call that could not be read, and so has no name"
"""Reason for which a conversation is left out, also one that is to be unlearnt: no model wrote it as a template would."""
SILENT = "conversations without a word of the participant's own"
"""Reason for which a conversation is left out."""

CUT = "conversations with an answer that a limit or a filter cut: a template writes it as a whole one"
"""Note on conversations."""


def conversation(
    events: Iterable[dict[str, Any]], participant: str, arguments_as: ArgumentsAs, may_be_blank: bool = False
) -> Chat:
    """Returns a participant's conversation as chat messages: those in its own thread, and as messages of the user those
    of others that it heard, up to the last message that it said itself. Its other threads are left out.

    `events`: rows of the episode's events. `arguments_as`: type of the arguments of tool calls: `object`, as chat
    templates need it, or `text`, which has the same type in every line. `may_be_blank`: takes blank answers for
    words. Errors: LeftOut if the participant said nothing (blank answers are none) and called nothing, or if a call has
    no name, or arguments that are no JSON object.
    """
    return conversation_in_two(events, participant, arguments_as, may_be_blank)[0]


def conversation_in_two(
    events: Iterable[dict[str, Any]], participant: str, arguments_as: ArgumentsAs, may_be_blank: bool = False
) -> tuple[Chat, int]:
    """Returns the conversation of a participant, as `conversation` does, and the number of messages before the first
    one that the participant said itself. Words of the assistant that a task began with are before it.
    """
    found = [(event, message) for event in events if (message := _message(event, participant, arguments_as))]
    while found and found[-1][1]["role"] != "assistant":
        found.pop()
    own = [
        place
        for place, (event, message) in enumerate(found)
        if event["kind"] == "message" and message["role"] == "assistant"
    ]
    if not any(may_be_blank or _says(found[place][1]) for place in own):
        raise LeftOut(SILENT)
    return [message for _, message in found], own[0]


def is_cut(events: Iterable[dict[str, Any]], participant: str) -> bool:
    """Says whether a limit or a filter cut an answer of a participant in its own conversation."""
    own = (event for event in events if event["thread"] == participant and event["kind"] == "message")
    return any(cut_reason(event["finish_reason"]) is not None for event in own)


def _says(message: dict[str, Any]) -> bool:
    return "tool_calls" in message or not is_blank(message["content"])


def as_seen(event: dict[str, Any], participant: str) -> dict[str, Any] | None:
    """Returns an event as a participant has it in its conversation: those of its own thread as they are, and what others
    said and it heard as words of the user. None if it has the event in neither way.
    """
    if event["thread"] == participant:
        return event if event["role"] else None
    if event["kind"] == "message" and participant in (event["visible_to"] or ()):
        return {**event, "role": "user", "reasoning": None, "tool_calls": [], "tool_call_id": None}
    return None


def is_own(seen: dict[str, Any]) -> bool:
    """Says whether an event as it is seen (`as_seen`) is an answer of the participant's own model."""
    return bool(seen["kind"] == "message" and seen["role"] == "assistant")


def text_of(event: dict[str, Any]) -> str:
    """Returns the text of an event."""
    return "".join(part["text"] for part in event["content"] or ())


def _message(event: dict[str, Any], participant: str, arguments_as: ArgumentsAs) -> dict[str, Any] | None:
    """Returns an event as a chat message; None if the participant neither has the event in its own thread nor heard it.
    Errors: LeftOut for a call without a name, or whose arguments are no JSON object.
    """
    seen = as_seen(event, participant)
    return None if seen is None else chat_message(seen, arguments_as)


def chat_message(event: dict[str, Any], arguments_as: ArgumentsAs) -> dict[str, Any]:
    """Returns an event with a role as a chat message. Errors: LeftOut for a call without a name, or whose arguments are no JSON object."""
    message: dict[str, Any] = {"role": event["role"], "content": text_of(event)}
    if event["reasoning"]:
        message["reasoning_content"] = event["reasoning"]
    if event["tool_calls"]:
        message["tool_calls"] = [_call(call, arguments_as) for call in event["tool_calls"]]
    if event["tool_call_id"] is not None:
        message["tool_call_id"] = event["tool_call_id"]
    return message


def _call(call: dict[str, str], arguments_as: ArgumentsAs) -> dict[str, Any]:
    arguments = call["arguments"] if arguments_as == "said" else arguments_of(call)
    function = {"name": call["name"], "arguments": _text_of(call) if arguments_as == "text" else arguments}
    return {"id": call["id"], "type": "function", "function": function}


def arguments_of(call: dict[str, str]) -> dict[str, Any]:
    """Returns the arguments of a call, a JSON object, which is empty for the ways in which models write that there are none.
    Errors: LeftOut if they are none, or the call has no name: then they are its whole text, as the model's server gave it.
    """
    if not call["name"]:
        raise LeftOut(NAMELESS)
    try:
        read = json.loads(_text_of(call), parse_constant=_refuse)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise LeftOut(MALFORMED)
    return read


def _text_of(call: dict[str, str]) -> str:
    return "{}" if is_no_arguments(call["arguments"]) else call["arguments"]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
