"""Writes the server-sent events of the Messages API."""

from __future__ import annotations

import json

from ray_gym.anthropic_api.errors import messages_error
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import Json


def event(data: Json) -> str:
    """Returns an event with this JSON data, named by the data's type."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


PING = event({"type": "ping"})
"""Event that says nothing, and keeps a stream open."""


def error_event(refused: Refused) -> str:
    """Returns the event that ends a stream whose request is refused after all."""
    return event(messages_error(refused, None))
