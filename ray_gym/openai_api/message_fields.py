"""Tells which fields of a message are read, and refuses others that ask for something: one rule for requests and rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ray_gym.openai_api.parts import ANSWER_FIELDS, asks_something

_OF_ALL = frozenset({"type", "role", "content"})
_OF_CALLS = frozenset({"type", "call_id", "name"})
_READ: Mapping[str, frozenset[str]] = {
    "assistant": _OF_ALL | ANSWER_FIELDS | {"tool_calls", "function_call", "name"},  # a framework's name for the model
    "tool": _OF_ALL | {"tool_call_id", "name"},  # the name is that of the call, which has it already
    "function": _OF_ALL | {"name"},
    "function_call": _OF_CALLS | {"arguments"},
    "function_call_output": _OF_CALLS | {"output"},
    "reasoning": frozenset({"type", "summary", "content", "encrypted_content"}),  # what is sealed can't be read here
}
"""Fields that are read, by the role of the message, or by the type of another item; of other roles, `_OF_ALL`."""
_NAMED = ("user", "system", "developer")
"""Roles of messages that may have the name of who says them, beside the assistant's and the tools'."""
_OF_TOOL_CALL = frozenset({"id", "type", "function", "name", "arguments", "index", "extra_content"})
"""Fields of a message's tool calls, and of their functions, that are read or harmless."""
_STATES = ("completed", "in_progress", "incomplete")
"""Values of `status` that say nothing new of an item: all that OpenAI's have. That a call failed is not among them."""
TRAINING_HINTS = frozenset({"weight", "train", "trainable", "loss_mask"})
"""Fields by which data for fine-tuning says what of a conversation is trained on. They have no use here."""
HARMLESS = TRAINING_HINTS | {
    *("id", "object", "phase", "index", "created", "created_at", "timestamp", "metadata", "model", "usage"),
    *("annotations", "citations", "provider_specific_fields", "extra_content", "cache_control"),
    *("finish_reason", "stop_reason"),
    *("logprobs", "token_ids", "prompt_token_ids", "generation_token_ids", "generation_log_probs"),
}
"""Fields that tell of a message, and change neither the prompt nor the answer, whatever their values."""


def require_read(item: Mapping[str, Any]) -> None:
    """Checks that each field of a message, or of another item, is read, is in `HARMLESS`, or has a value that asks for
    nothing: null, false, an empty text, list or object. So a user's `name`, which some chat templates show, `prefix:
    true`, which asks a model to continue the message, and the `error` of a call are not dropped without a word. An
    assistant's `name` is taken, and not shown: agents send the model's own words back with one, and the model spoke
    them without it. Errors: ValueError that names the first that is not.
    """
    kind = item.get("type") or "message"
    role = item.get("role") if kind == "message" else kind
    read = _READ.get(role, _OF_ALL) if isinstance(role, str) else _OF_ALL
    of = f"a message of role {role}" if kind == "message" else f"an item of type {kind}"
    _require_known(item, read, of)


def without_name(message: Any, field: str, left_out: list[str]) -> Any:
    """Returns a message of an agent's request without the `name` of the user, or of the system, that says it: it is no
    part of what models are shown here. Adds it to `left_out`, below the request's `field`.
    """
    if not isinstance(message, Mapping) or message.get("role") not in _NAMED or not asks_something(message.get("name")):
        return message
    left_out.append(f"{field}.name")
    return {name: value for name, value in message.items() if name != "name"}


def require_call_read(call: Mapping[str, Any]) -> None:
    """Checks the fields of a message's tool call, and those of its function, as `require_read` does. Errors: ValueError
    that names the first that is not read.
    """
    function = call.get("function")
    for given in (call, function) if isinstance(function, Mapping) else (call,):
        _require_known(given, _OF_TOOL_CALL, "a tool call")
    if call.get("type") not in (None, "function"):
        raise ValueError(f"tool calls of type {str(call['type'])[:40]!r} can't be read")


def _require_known(given: Mapping[str, Any], read: Collection[str], of: str) -> None:
    for name, value in given.items():
        if name in read or name in HARMLESS or not asks_something(value):
            continue
        if name != "status" or not isinstance(value, str) or value not in _STATES:
            raise ValueError(f"{str(name)[:40]} of {of} is not followed here; leave it out")


def passed_over(items: Any) -> list[str]:
    """Returns the names of the fields of messages that are taken and not used, though they may matter to who wrote them:
    training hints, and the name of an assistant. They are in sorted order; none for anything but a list.
    """
    given = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list | tuple) else []
    hints = {name for item in given for name in TRAINING_HINTS & item.keys() if item[name] is not None}
    return sorted(hints | {"name" for item in given if item.get("role") == "assistant" and item.get("name")})
