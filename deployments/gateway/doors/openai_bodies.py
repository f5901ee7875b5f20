"""Describes bodies of OpenAI's API: requests (their main fields) in the interface's description, and the answers about
models.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ray_gym.openai_api.refused import Refused

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
"""Field with the input of each path, its schema, and an example."""


def model_list(names: Iterable[str]) -> Json:
    return {"object": "list", "data": [_model(name) for name in sorted(names)]}


def described_model(name: str, names: Iterable[str]) -> Json:
    """Describes the model of a name. Errors: Refused if there is none."""
    known = sorted(names)
    if name not in known:
        raise no_model(name, known)
    return _model(name)


def no_model(name: str, names: Iterable[str]) -> Refused:
    known = ", ".join(sorted(names))
    return Refused(404, "model_not_found", f"there is no model {name[:128]!r}; there are {known}", "model")


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ray_gym"}


def request_body(path: str) -> Json:
    """Describes the body for a path that ends like one of OpenAI's."""
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
