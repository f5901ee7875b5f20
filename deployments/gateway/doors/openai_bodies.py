"""Builds bodies in OpenAI's formats: answers about models, and the main fields of requests for the OpenAPI
description.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ray_gym.openai_api.refused import Refused
from ray_gym.service.api import ModelInfo

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
    """Returns the answer to GET /models, with the models in the order of their names."""
    return {"object": "list", "data": [_model(name) for name in sorted(names)]}


def describe_model(name: str, names: Iterable[str]) -> ModelInfo:
    """Returns the answer to GET /models/NAME, without a tokenizer. `names`: names of all models. Errors: Refused (404)
    if there is no such model.
    """
    known = sorted(names)
    if name not in known:
        raise model_not_found(name, known)
    return ModelInfo(id=name)


def model_not_found(name: str, names: Iterable[str]) -> Refused:
    """Returns the refusal (404) of a request for a model that does not exist. `names`: names of all models, which it
    lists.
    """
    known = ", ".join(sorted(names))
    return Refused(404, "model_not_found", f"there is no model {name[:128]!r}; there are {known}", "model")


def _model(name: str) -> Json:
    return ModelInfo(id=name).model_dump(exclude={"tokenizer"})


def request_body(path: str) -> Json:
    """Returns the OpenAPI description of a request's body, with its main fields only. `path` ends with
    chat/completions, completions or responses.
    """
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
