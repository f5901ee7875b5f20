"""Names the dialects that agents speak: how a request is read in each, and how a model's answer is written."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ray_gym.anthropic_api.answer import message, message_events
from ray_gym.anthropic_api.errors import messages_error, messages_status
from ray_gym.anthropic_api.events import PING
from ray_gym.anthropic_api.request import read_message_request
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import chat_completion, chat_events, read_chat
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest, Json
from ray_gym.openai_api.responses import LOGPROBS, read_responses, response, response_events

LEFT_OUT = "X-Left-Out"
"""Header of an answer that names the request's fields and tools which ask for what isn't here."""
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Reads the requests and writes the answers of one API."""

    read: Callable[[Any], ApiRequest]
    """Reads a body. Errors: Refused (400)."""
    whole: Callable[[Completion, ApiRequest, str], Json]
    """Returns an answer with this id as JSON data."""
    events: Callable[[Completion, ApiRequest, str], Iterator[str]]
    """Yields an answer with this id as server-sent events."""
    refusal: Callable[[Refused], tuple[int, Json]]
    """Returns the HTTP status and the JSON data by which its clients understand a refusal."""
    prefix: str
    """Beginning of the ids of answers."""
    logprobs_field: str = "logprobs"
    """Name of the field of a request that asks for logprobs."""
    ping: str = ""
    """Event that says nothing, and keeps a stream open; "" if the dialect has none."""

    def new_id(self) -> str:
        """Returns a random id for an answer."""
        return f"{self.prefix}{secrets.token_hex(12)}"

    def headers(self, asked: ApiRequest, completion: Completion | None) -> dict[str, str]:
        """Returns the headers of the answer to a request. `completion`: the answer; None if pings go before it. No request of
        a dialect that has pings can ask for tokens, so that its headers don't depend on the answer.
        """
        left_out = list(asked.left_out)
        if completion is not None and not completion.has_tokens:
            left_out += [self.logprobs_field] * asked.logprobs + ["return_token_ids"] * asked.token_ids
        return {LEFT_OUT: ", ".join(left_out)} if left_out else {}


def _openai_refusal(refused: Refused) -> tuple[int, Json]:
    problem = {
        "message": refused.message,
        "type": "invalid_request_error",
        "code": refused.code,
        "param": refused.param,
    }
    return refused.status, {"error": problem}


def _anthropic_refusal(refused: Refused) -> tuple[int, Json]:
    return messages_status(refused), messages_error(refused, None)


CHAT = Dialect(
    read_chat,
    lambda completion, asked, id: chat_completion(completion, asked, id, int(time.time())),
    lambda completion, asked, id: chat_events(completion, asked, id, int(time.time())),
    _openai_refusal,
    "chatcmpl-",
)
RESPONSES = Dialect(
    lambda body: read_responses(body, remembers=True),
    lambda completion, asked, id: response(completion, asked, id, int(time.time())),
    lambda completion, asked, id: response_events(completion, asked, id, int(time.time())),
    _openai_refusal,
    "resp_",
    logprobs_field=f"include.{LOGPROBS}",
)
MESSAGES = Dialect(read_message_request, message, message_events, _anthropic_refusal, "msg_", ping=PING)
