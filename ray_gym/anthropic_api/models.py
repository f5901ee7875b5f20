"""Writes the models that may be asked in the form of Anthropic's Models API."""

from __future__ import annotations

from ray_gym.openai_api.refused import not_found
from ray_gym.openai_api.request import Json


def model_list(names: list[str]) -> Json:
    """Returns the answer to GET /v1/models: all models on one page. `names`: names of the models, at least one."""
    return {"data": [_model(name) for name in names], "first_id": names[0], "last_id": names[-1], "has_more": False}


def describe_model(name: str, names: list[str]) -> Json:
    """Returns the answer to GET /v1/models/NAME. Errors: Refused (404) if there is no such model."""
    if name not in names:
        raise not_found("model", name[:200])
    return _model(name)


def _model(name: str) -> Json:
    return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
