"""Limits the bodies of requests: their size, the time in which they arrive, and their format, which is JSON. The layers
after this one get whole bodies, and don't wait for clients.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.auth import path_of
from ray_gym.openai_api.json_body import parse_json
from ray_gym.openai_api.refused import Refused, service_unavailable

BODIES = 32
"""Limit of the memory for bodies, as a number of bodies of the largest allowed size."""
IN_THREAD_BYTES = 64 * 2**10
"""Bytes above which a body is parsed in a thread, to keep the event loop free."""
_OF_MODELS = re.compile(r"/v1/(sessions/|(chat/)?completions|responses|messages)")
"""Paths of a session and of models. That of all sessions is none."""
BODY = "ray_gym.body"
"""Key of the parsed body in a request's scope."""


class ClosingRefusal(Refused):
    """Refuses a body that the client may still be sending: the connection is closed after the answer."""

    headers = {"Connection": "close"}  # noqa: RUF012


class BodyLimits:
    """Reads and parses the bodies of requests that have one, as a layer in front of the routes.

    Errors: Refused (400 for a malformed body, 408 if it arrives too slowly, 413 if it is too large, 415 if it is not
    JSON by its Content-Type, 503 if the memory for bodies is full).
    """

    def __init__(self, app: ASGIApp, most_bytes: int, deadline_s: float) -> None:
        self._app = app
        self._most = most_bytes
        self._deadline_s = deadline_s
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(headers := Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        with self._hold_memory(self._read_length(headers)) as hold:
            body = await self._read(receive, hold)
            if body:
                _check_type(headers)
                large, is_an_agents = len(body) > IN_THREAD_BYTES, _repeats_a_model(scope)
                scope[BODY] = (
                    await asyncio.to_thread(parse_json, body, is_an_agents) if large else parse_json(body, is_an_agents)
                )
            await self._app(scope, _replay_body(body, receive), send)

    def _read_length(self, headers: Headers) -> int:
        """Returns the length of the body in bytes as the Content-Length header has it, 0 without one. Errors: Refused
        (400 if the header is no number, 413 if the length is over the limit).
        """
        text = headers.get("content-length", "0")
        if not (text.isascii() and text.isdigit()):
            raise Refused(400, "bad_header", "the header Content-Length is no number", "Content-Length")
        if len(text) > 18 or int(text) > self._most:
            raise self._too_large()
        return int(text)

    async def _read(self, receive: Receive, hold: _Hold) -> bytes:
        """Returns the whole body. Errors: Refused (408 after the deadline, 413 if the body is over the limit, 503 if
        the memory for bodies is full); ClientDisconnect if the client disconnects before.
        """
        chunks = []
        size = 0
        try:
            async with asyncio.timeout(self._deadline_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size > self._most:
                        raise self._too_large()
                    hold.grow_to(size)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        return b"".join(chunks)
        except TimeoutError:
            raise ClosingRefusal(
                408, "body_too_slow", f"the body did not arrive within {self._deadline_s:g} s"
            ) from None

    def _too_large(self) -> Refused:
        return ClosingRefusal(413, "body_too_large", f"the body is larger than {self._most:,} bytes")

    @contextmanager
    def _hold_memory(self, size: int) -> Iterator[_Hold]:
        hold = _Hold(self)
        try:
            hold.grow_to(size)
            yield hold
        finally:
            self._held -= hold.size

    def take(self, size: int) -> None:
        """Reserves `size` bytes of the memory for bodies. Errors: Refused (503) if there is no room."""
        if self._held + size > BODIES * self._most:
            raise service_unavailable("the bodies of other requests fill the memory for them; come back in a moment")
        self._held += size


class _Hold:
    """Counts the memory for bodies that one request has reserved."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self.size = 0

    def grow_to(self, size: int) -> None:
        """Reserves memory for bodies, until this request has `size` bytes in all. Errors: Refused (503) if there is no
        room.
        """
        if size > self.size:
            self._limits.take(size - self.size)
            self.size = size


async def json_body(request: Request) -> Any:
    """Returns the body of a request as JSON data: the data that `BodyLimits` has parsed, or if it has not, the body is
    parsed now. Errors: Refused (400) if it is not JSON that is accepted.
    """
    if BODY in request.scope:
        return request.scope[BODY]
    return await asyncio.to_thread(parse_json, await request.body(), _repeats_a_model(request.scope))


class ParsedBodyRoute(APIRoute):
    """Gives the handlers of routes the body that `BodyLimits` has parsed. FastAPI would parse it again, on the event
    loop.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_parsed(request: Request) -> Response:
            return await handle(_ParsedRequest(request.scope, request.receive))

        return handle_parsed


class _ParsedRequest(Request):
    async def json(self) -> Any:
        return await json_body(self)


def _repeats_a_model(scope: Scope) -> bool:
    """Returns True if the body of a request may have in it what a model wrote."""
    return _OF_MODELS.match(path_of(scope)) is not None


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _check_type(headers: Headers) -> None:
    """Refuses bodies that are not JSON by their Content-Type. That also keeps out forms of other sites' web pages,
    which browsers send without a preflight request. Errors: Refused (415).
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "not_json", "the header Content-Type has to be application/json", "Content-Type")


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Returns an ASGI `receive` that first returns the whole body, then the client's further messages."""
    message: dict[str, Any] | None = {"type": "http.request", "body": body, "more_body": False}

    async def replay() -> Message:
        nonlocal message
        first, message = message, None
        return first if first is not None else await receive()

    return replay
