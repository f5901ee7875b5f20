"""Writes a model's answer as a response over HTTP, in the dialect of its request."""

from __future__ import annotations

import json

from fastapi import Response
from fastapi.responses import StreamingResponse

from ray_gym.models.base import Completion
from ray_gym.openai_api.request import ApiRequest
from ray_gym.play.dialects import EVENTS, Dialect

CHAT_PATH, MESSAGES_PATH, RESPONSES_PATH = "/v1/chat/completions", "/v1/messages", "/v1/responses"


def answer_in(dialect: Dialect, completion: Completion, asked: ApiRequest, id: str | None = None) -> Response:
    """Returns the response to a request: as events if it asks for a stream, else whole. `id`: the answer's id; None for a
    random one.
    """
    id, headers = id or dialect.new_id(), dialect.headers(asked, completion)
    if asked.stream:
        return StreamingResponse(dialect.events(completion, asked, id), headers=headers, media_type=EVENTS)
    text = json.dumps(dialect.whole(completion, asked, id))  # ASCII, so that any text in it can be encoded
    return Response(text, headers=headers, media_type="application/json")
