"""Names the dialects that both doors speak: how a request is read in each, and how a model's answer is written."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from fastapi.responses import StreamingResponse

from ray_gym.anthropic_api.answer import message, message_events
from ray_gym.anthropic_api.events import PING
from ray_gym.anthropic_api.request import read_message_request
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import chat_completion, chat_events, read_chat
from ray_gym.openai_api.request import ApiRequest, Json
from ray_gym.openai_api.responses import read_responses, response, response_events

LEFT_OUT = "X-Left-Out"
"""Header of an answer that names the request's fields and tools which ask for what isn't here."""
EVENTS = "text/event-stream"
CHAT_PATH, MESSAGES_PATH = "/v1/chat/completions", "/v1/messages"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Reads the requests and writes the answers of one API."""

    read: Callable[[Any], ApiRequest]
    """Reads a body. Errors: Refused (400)."""
    whole: Callable[[Completion, ApiRequest, str], Json]
    """Returns an answer with this id as JSON data."""
    events: Callable[[Completion, ApiRequest, str], Iterator[str]]
    """Yields an answer with this id as server-sent events."""
    prefix: str
    """Beginning of the ids of answers."""
    ping: str = ""
    """Event that says nothing, and keeps a stream open; "" if the dialect has none."""

    def answer(self, completion: Completion, asked: ApiRequest, id: str | None = None) -> Response:
        """Returns the response to a request: as events if it asks for a stream, else whole. `id`: the answer's id; None
        for a random one.
        """
        id, headers = id or self.new_id(), self.headers(asked)
        if asked.stream:
            return StreamingResponse(self.events(completion, asked, id), headers=headers, media_type=EVENTS)
        text = json.dumps(self.whole(completion, asked, id))  # ASCII, so that any text in it can be encoded
        return Response(text, headers=headers, media_type="application/json")

    def new_id(self) -> str:
        """Returns a random id for an answer."""
        return f"{self.prefix}{secrets.token_hex(12)}"

    def headers(self, asked: ApiRequest) -> dict[str, str]:
        """Returns the headers of the answer to a request."""
        return {LEFT_OUT: ", ".join(asked.left_out)} if asked.left_out else {}


CHAT = Dialect(
    read_chat,
    lambda completion, asked, id: chat_completion(completion, asked, id, int(time.time())),
    lambda completion, asked, id: chat_events(completion, asked, id, int(time.time())),
    "chatcmpl-",
)
RESPONSES = Dialect(
    lambda body: read_responses(body, remembers=True),
    lambda completion, asked, id: response(completion, asked, id, int(time.time())),
    lambda completion, asked, id: response_events(completion, asked, id, int(time.time())),
    "resp_",
)
MESSAGES = Dialect(read_message_request, message, message_events, "msg_", PING)
