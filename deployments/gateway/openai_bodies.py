"""How the description of the interface shows the bodies of OpenAI's API: their main fields, for the rest is OpenAI's to describe."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

ANSWER: Json = {"description": "OpenAI's, as JSON or server-sent events.", "content": {"text/event-stream": {}}}

_TEXT: Json = {"type": "string", "minLength": 1}
_MESSAGES: Json = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"role": {"enum": ["system", "developer", "user", "assistant", "tool"]}},
        "required": ["role"],
    },
}
_INPUTS: dict[str, tuple[str, Json, Any]] = {
    "chat/completions": ("messages", _MESSAGES, [{"role": "user", "content": "Hello"}]),
    "completions": ("prompt", {}, "Hello"),
    "responses": ("input", {"anyOf": [_TEXT, {"type": "array", "minItems": 1}]}, "Hello"),
}
"""The field with what is said, its schema, and an example."""


def request_body(path: str) -> Json:
    """Of a path that ends like one of OpenAI's."""
    field, schema, example = _INPUTS[
        "chat/completions" if path.endswith("chat/completions") else path.rpartition("/")[2]
    ]
    properties = {"model": {**_TEXT, "maxLength": 256}, "stream": {"type": ["boolean", "null"]}, field: schema}
    body = {"type": "object", "properties": properties, "required": ["model", field]}
    return {
        "description": "As OpenAI's API has it.",
        "required": True,
        "content": {"application/json": {"schema": body, "example": {"model": "small", field: example}}},
    }
