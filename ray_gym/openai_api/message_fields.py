"""Tells which fields of a message are read, and refuses others that ask for something: one rule for requests and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray_gym.openai_api.parts import ANSWER_FIELDS

_OF_ALL = frozenset({"type", "role", "content"})
_READ: Mapping[str, frozenset[str]] = {
    "assistant": _OF_ALL | ANSWER_FIELDS | {"tool_calls", "function_call", "name"},  # a framework's name for the model
    "tool": _OF_ALL | {"tool_call_id", "name"},  # the name is that of the call, which has it already
    "function": _OF_ALL | {"name"},
}
"""Fields that are read, by the role of the message; of other roles, `_OF_ALL`."""
TRAINING_HINTS = frozenset({"weight", "train", "trainable", "loss_mask"})
"""Fields by which data for fine-tuning says what of a conversation is trained on. They have no use here."""
HARMLESS = TRAINING_HINTS | {
    *("id", "object", "status", "phase", "index", "created", "created_at", "timestamp", "metadata", "model", "usage"),
    *("annotations", "citations", "provider_specific_fields", "cache_control", "finish_reason", "stop_reason"),
    *("logprobs", "token_ids", "prompt_token_ids", "generation_token_ids", "generation_log_probs"),
}
"""Fields that tell of a message, and change neither the prompt nor the answer, whatever their values."""


def require_read(item: Mapping[str, Any]) -> None:
    """Checks that each field of a message is read, is in `HARMLESS`, or has a value that asks for nothing: null, false,
    an empty text, list or object. So a user's `name`, which some chat templates show, and `prefix: true`, which asks a
    model to continue the message, are not dropped without a word. An assistant's `name` is taken, and not shown: agents
    send the model's own words back with one, and the model spoke them without it. Errors: ValueError that names the first that is not.
    """
    role = item.get("role")
    read = _READ.get(role, _OF_ALL) if isinstance(role, str) else _OF_ALL
    for name, value in item.items():
        if (
            name not in read
            and name not in HARMLESS
            and not (value is None or value is False or value in ("", [], (), {}))
        ):
            raise ValueError(f"{str(name)[:40]} of a message of role {role} is not followed here; leave it out")


def passed_over(items: Any) -> list[str]:
    """Returns the names of the fields of messages that are taken and not used, though they may matter to who wrote them:
    training hints, and the name of an assistant. They are in sorted order; none for anything but a list.
    """
    given = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list | tuple) else []
    hints = {name for item in given for name in TRAINING_HINTS & item.keys() if item[name] is not None}
    return sorted(hints | {"name" for item in given if item.get("role") == "assistant" and item.get("name")})
