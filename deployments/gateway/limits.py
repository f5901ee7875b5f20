"""How many requests and streams one gateway has at once. What comes on top is told when to come back, and never waits here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from deployments.gateway.auth import path_of
from deployments.gateway.body import BODY
from ray_gym.service.errors import unavailable

RETRY_S = 1
UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
"""How it goes can be asked also of a gateway that has all it can take."""


class Slots:
    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self.taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Errors: Refused when all are taken."""
        if self.taken >= self._most:
            raise unavailable(f"{self._most} {self._what} are open at this gateway already; come back later", RETRY_S)
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


class RequestLimit:
    def __init__(self, app: ASGIApp, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or path_of(scope) in UNLIMITED:
            await self._app(scope, receive, send)
            return
        with self._slots.one():
            await self._app(scope, receive, send)


class StreamLimit:
    """Stands behind the body, for that may ask for a stream."""

    def __init__(self, app: ASGIApp, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not asks_for_stream(scope):
            await self._app(scope, receive, send)
            return
        with self._slots.one():
            await self._app(scope, receive, send)


def asks_for_stream(scope: Scope) -> bool:
    """As a rollout's stream does by its path, and a call of OpenAI's API by its body (vLLM takes 1 and "yes" for true)."""
    body = scope.get(BODY)
    asked: bool = path_of(scope).endswith("/stream") or (
        isinstance(body, dict) and body.get("stream", False) not in (False, None)
    )
    return asked
