"""Answers requests outside of sessions: by replicas or endpoints that speak OpenAI's formats themselves, or by any model
of a config.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol

from fastapi import Response
from fastapi.responses import StreamingResponse

from ray_gym.anthropic_api.answer import token_count
from ray_gym.anthropic_api.request import read_count_request
from ray_gym.deployments.gateway.doors.dialects import CHAT_PATH, MESSAGES_PATH, RESPONSES_PATH
from ray_gym.deployments.gateway.doors.pings import answer_with_pings
from ray_gym.engines.refusals import RefusedByEndpoint
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import Completion, Model, Sampling
from ray_gym.models.door import Door, DoorHead, DoorPart, DoorRequest
from ray_gym.models.thoughts import with_thoughts_apart
from ray_gym.openai_api.formats import refusal_by_model
from ray_gym.openai_api.offered_tools import offers_only_functions
from ray_gym.openai_api.refused import Refused, service_unavailable
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.responses import read_responses
from ray_gym.openai_api.sampling import MOST_TOKENS
from ray_gym.play.counting import count_prompt
from ray_gym.play.dialects import CHAT, EVENTS, MESSAGES, RESPONSES, Dialect

_READ_HERE: Mapping[str, Dialect] = {
    CHAT_PATH: CHAT,
    MESSAGES_PATH: MESSAGES,
    RESPONSES_PATH: replace(RESPONSES, read=read_responses),  # no answer is kept that another could continue
}
"""Dialects that a model which takes messages is asked in, by their paths."""
UNLIMITED = Sampling(max_tokens=MOST_TOKENS)
"""Sampling parameters of a request that sets none: what the context leaves may be generated."""
RETRY_S = 1.0
"""Seconds after which a caller should retry when a model answers 429 (too many requests), as the model does not say it.
"""
Note = Callable[[str], Awaitable[None]]
"""Notes the words of a failure."""


class Target(Protocol):
    """Answers the requests for one model."""

    async def answer(self, path: str, body: Mapping[str, Any], session_id: str) -> Response:
        """Returns the response to a request. The generation is aborted if this is cancelled, and if the response's body
        is not read to its end.

        `path`: one of `models.door.PATHS`, or that of messages. `body`: JSON object of the request. `session_id`:
        requests with the same one go to the same replica; "" for any. Errors: Refused if the model refuses the request, fails, or can't be
        reached.
        """
        ...

    async def count_tokens(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the answer to a request of the Messages API for the number of a prompt's tokens. Errors: Refused if
        the request is wrong, or the model counts none or can't be reached.
        """
        ...


class DoorTarget:
    """Forwards requests in OpenAI's formats to a model that speaks them itself, at its replicas or at an endpoint. `note`: is
    given the words of each failure that the door tells in a note of its error.
    """

    def __init__(self, door: Door, note: Note | None = None) -> None:
        self._door = door
        self._note = note

    async def answer(self, path: str, body: Mapping[str, Any], session_id: str) -> Response:
        try:
            return await self._answer(path, body, session_id)
        except Refused as refused:
            if self._note is not None:
                for words in getattr(refused, "__notes__", ()):
                    await self._note(f"model {body['model']}: {words}")
            raise

    async def _answer(self, path: str, body: Mapping[str, Any], session_id: str) -> Response:
        parts = self._door.answer(DoorRequest(path, json.dumps(body).encode()), session_id)
        head = await anext(parts, None)
        if not isinstance(head, DoorHead):
            raise service_unavailable("the model gave no answer")
        if head.status == 200 and head.content_type.startswith(EVENTS):
            return StreamingResponse(_stream_pieces(parts), media_type=EVENTS)
        async with aclosing(parts):
            content = b"".join([part async for part in parts if isinstance(part, bytes)])
        if head.status >= 400:
            raise _refusal_of_answer(head.status, content)
        return Response(content, head.status, media_type="application/json")


@dataclass(frozen=True, slots=True)
class EndpointTarget:
    """Answers for an endpoint, or for replicas: requests of the paths `passes` are forwarded to it as they are; all
    others are read here and go to the model as messages, like those of episodes. So are requests with tools that are no
    functions, as agents' programs send them.
    """

    passes: tuple[str, ...]
    forwarded: DoorTarget
    model: ModelTarget

    async def answer(self, path: str, body: Mapping[str, Any], session_id: str) -> Response:
        is_read_here = path not in self.passes or (path in _READ_HERE and not offers_only_functions(body))
        target = self.model if is_read_here else self.forwarded
        return await target.answer(path, body, session_id)

    async def count_tokens(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return await self.model.count_tokens(body)


class ModelTarget:
    """Answers chat completions, Responses and messages by a model that takes messages as those of episodes. An answer is
    generated as a whole, within `deadline_s` seconds. Other paths are refused. `note`: is given the words of each failure
    of which the caller is only told that the model failed (HTTP 502), or that it can't be reached (503).
    """

    def __init__(self, model: Model, deadline_s: float, note: Note | None = None) -> None:
        self._model = model
        self._deadline_s = deadline_s
        self._note = note

    async def answer(self, path: str, body: Mapping[str, Any], session_id: str) -> Response:
        dialect = _READ_HERE.get(path)
        if dialect is None:
            message = f"model {body['model']} has no {path}, but messages only: use {CHAT_PATH}"
            raise Refused(400, "not_offered", message, "model")
        asked = await asyncio.to_thread(dialect.read, body)
        completing = asyncio.ensure_future(self._complete(asked, session_id))
        return await answer_with_pings(dialect, asked, completing)

    async def _complete(self, asked: ApiRequest, session_id: str) -> Completion:
        """Returns the model's completion of a request, with thoughts in its text told apart. Errors: Refused if the model
        refuses it, fails, is too slow, or has no room for the messages.
        """
        seed = asked.sampling.get("seed")
        request = asked.request(UNLIMITED, session_id, secrets.randbits(63) if seed is None else seed)
        try:
            async with asyncio.timeout(self._deadline_s):
                completion = await self._model.complete(request)
        except TimeoutError:
            raise service_unavailable(f"the model did not answer within {self._deadline_s:g} s") from None
        except EpisodeFailure as error:
            refused = _refusal_of_failure(error, asked.format_field)
            if refused.status >= 500 and self._note is not None:
                failure = error.failure
                await self._note(f"model {asked.model}: {failure.kind} in {failure.where}: {failure.message}")
            raise refused from error
        if completion.finish_reason == "context_full" and not completion.generated_tokens:
            message = "prompt is too long: the messages are longer than the model's context length"
            raise Refused(400, "context_length_exceeded", message, "messages")
        completion.message = with_thoughts_apart(completion.message)
        return completion

    async def count_tokens(self, body: Mapping[str, Any]) -> dict[str, Any]:
        asked = await asyncio.to_thread(read_count_request, body)
        return token_count(await count_prompt(self._model, asked.request(UNLIMITED, "", 0), asked.model))


async def _stream_pieces(parts: AsyncGenerator[DoorPart, None]) -> AsyncIterator[bytes]:
    """Yields the pieces of a stream. A refusal on the way becomes an event with the error, since the head of the answer
    is sent already.
    """
    async with aclosing(parts):
        try:
            async for part in parts:
                if isinstance(part, bytes):
                    yield part
        except Refused as refused:
            problem = {"message": refused.message, "type": "server_error", "code": refused.code, "param": None}
            yield f"data: {json.dumps({'error': problem})}\n\n".encode()


def _refusal_of_answer(status: int, content: bytes) -> Refused:
    """Returns the refusal for a replica's error answer: with 503 for its statuses from 500 on, but 400 for 501, and
    else with its own `status`. `content`: body of the answer, an error in OpenAI's form if it can be read.
    """
    try:
        problem = json.loads(content)["error"]
        message, code, param = str(problem["message"]), problem.get("code"), problem.get("param")
    except (ValueError, KeyError, TypeError, AttributeError):
        message, code, param = "the model failed", None, None
    if status >= 500 and status != 501:
        return service_unavailable(message)
    name = code if isinstance(code, str) else "invalid_request"
    retry_after_s = RETRY_S if status == 429 else None
    field = param if isinstance(param, str) else None
    return Refused(400 if status == 501 else status, name, message, field, retry_after_s)


def _refusal_of_failure(error: EpisodeFailure, format_field: str) -> Refused:
    """Returns the refusal for a failure of the model: an endpoint's as it is where requests are forwarded; 400 for wrong
    data, 503 for an infra failure that a retry may mend, 502 for all others. `format_field`: the caller's name of the
    field that has the answer's format.
    """
    if isinstance(error, RefusedByEndpoint):
        return error.refused
    if error.failure.kind is FailureKind.DATA:
        refused = refusal_by_model(error.failure.where, error.failure.message, format_field)
        return refused if refused.param else Refused(400, "invalid_request", error.failure.message, "messages")
    if error.failure.kind is FailureKind.INFRA and error.retry:
        return service_unavailable("the model can't be reached")
    return Refused(502, "model_failed", "the model failed")
