"""Describes the requests and answers of the Messages API for the OpenAPI description, by their main fields."""

from __future__ import annotations

from typing import Any

from ray_gym.anthropic_api.errors import OVERLOADED, MessagesErrorAnswer

Json = dict[str, Any]

_STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 422, 429, 431, 500, 504, OVERLOADED)
ERRORS: dict[int | str, Json] = {
    status: {"model": MessagesErrorAnswer, "description": "The request is refused, in Anthropic's form."}
    for status in _STATUSES
}
"""Answers to requests that are refused, by their status."""
ANSWERS: dict[int | str, Json] = {
    200: {"description": "Anthropic's, as JSON or server-sent events.", "content": {"text/event-stream": {}}},
    **ERRORS,
}
"""Answers to a request for a message, by their status."""
_BLOCKS: Json = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}
_MESSAGES: Json = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"role": {"enum": ["user", "assistant", "system"]}, "content": _BLOCKS},
        "required": ["role", "content"],
    },
}


def messages_body(*required: str) -> Json:
    """Returns the OpenAPI description of a request's body, of which `required` are the fields that it has to have beside
    the model and the messages.
    """
    properties = {
        "model": {"type": "string", "minLength": 1, "maxLength": 256},
        "messages": _MESSAGES,
        "max_tokens": {"type": "integer", "minimum": 1},
        "stream": {"type": ["boolean", "null"]},
    }
    fields = ["model", "messages", *required]
    example = {"model": "small", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 64}
    schema = {"type": "object", "properties": properties, "required": fields}
    return {
        "description": "As Anthropic's API has it.",
        "required": True,
        "content": {"application/json": {"schema": schema, "example": {name: example[name] for name in fields}}},
    }
