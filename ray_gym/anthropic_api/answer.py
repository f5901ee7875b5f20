"""Writes a model's answer as a message of the Messages API, as JSON or as events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ray_gym.anthropic_api.events import PING, event
from ray_gym.messages import Message, arguments_object
from ray_gym.models.base import Completion
from ray_gym.openai_api.json_body import can_be_sent_back
from ray_gym.openai_api.request import ApiRequest, Json

UNSIGNED = "unsigned"
"""Signature of thoughts. They are not sealed here, but clients send back only those that have one."""
_CUT = {"length": "max_tokens", "context_full": "model_context_window_exceeded", "content_filter": "refusal"}
_OPEN: Json = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
"""Fields of a block, by its type, that are empty when its events begin."""


def message(completion: Completion, asked: ApiRequest, id: str) -> Json:
    """Returns a completion as the JSON data of a message. `id`: the message's id."""
    return {
        **_head(asked, id),
        "content": _blocks(completion.message),
        "stop_reason": _stop_reason(completion, asked),
        "stop_sequence": _stop_sequence(completion, asked),
        "usage": _usage(completion),
    }


def message_events(completion: Completion, asked: ApiRequest, id: str) -> Iterator[str]:
    """Yields a completion as server-sent events, with each block in one piece. `id`: the message's id."""
    usage = _usage(completion)
    begun = {**_head(asked, id), "content": [], "stop_reason": None, "stop_sequence": None}
    yield event({"type": "message_start", "message": {**begun, "usage": {**usage, "output_tokens": 0}}})
    yield PING
    for index, block in enumerate(_blocks(completion.message)):
        yield event({"type": "content_block_start", "index": index, "content_block": {**block, **_OPEN[block["type"]]}})
        for delta in _deltas(block):
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": _stop_reason(completion, asked), "stop_sequence": _stop_sequence(completion, asked)}
    yield event({"type": "message_delta", "delta": ended, "usage": usage})
    yield event({"type": "message_stop"})


def token_count(tokens: int) -> Json:
    """Returns the answer to a request for the number of a prompt's tokens."""
    return {"input_tokens": tokens}


def _head(asked: ApiRequest, id: str) -> Json:
    return {"id": id, "type": "message", "role": "assistant", "model": asked.model}


def _blocks(said: Message) -> list[Json]:
    """Returns the blocks of an answer: its thoughts, if any; its text, unless that is empty and there are calls; and its
    calls.
    """
    blocks: list[Json] = []
    if said.reasoning:
        blocks.append({"type": "thinking", "thinking": said.reasoning, "signature": UNSIGNED})
    if said.content or not said.tool_calls:
        blocks.append({"type": "text", "text": said.content, "citations": None})
    for call in said.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)})
    return blocks


def _input(arguments: str) -> Json:
    """Returns the arguments of a call as an object that the agent can send back: one that is nested too deeply, or has a
    number that is too large, as its text (`capture.canonical_arguments`).
    """
    given = arguments_object(arguments)
    return given if can_be_sent_back(given) else {"arguments": arguments}


def _deltas(block: Json) -> Iterator[Json]:
    """Yields what the events of a block add to the empty one."""
    if block["type"] == "thinking":
        yield {"type": "thinking_delta", "thinking": block["thinking"]}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    elif block["text"]:
        yield {"type": "text_delta", "text": block["text"]}


def _stop_reason(completion: Completion, asked: ApiRequest) -> str:
    if completion.finish_reason != "stop":
        return _CUT[completion.finish_reason]
    if completion.message.tool_calls:
        return "tool_use"
    return "end_turn" if _stop_sequence(completion, asked) is None else "stop_sequence"


def _stop_sequence(completion: Completion, asked: ApiRequest) -> str | None:
    """Returns the sequence at which the text ended, if the caller asked to stop there."""
    ended_at = completion.stop_text
    return ended_at if ended_at in asked.sampling.get("stop", ()) and not completion.message.tool_calls else None


def _usage(completion: Completion) -> Json:
    return {
        "input_tokens": max(completion.prompt_tokens - completion.cached_tokens, 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": completion.cached_tokens,
        "output_tokens": completion.generated_tokens,
    }
