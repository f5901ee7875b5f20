"""Limits how many requests and streams one gateway has at once. Further ones are told when to come back, and never wait
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.auth import path_of
from ray_gym.deployments.gateway.guards.body import BODY
from ray_gym.openai_api.refused import service_unavailable, too_many_requests

RETRY_S = 1
UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are answered also by a gateway that is full, as they tell its state."""


class Slots:
    def __init__(self, most: int, of_one: int, what: str) -> None:
        """Creates slots that are all free. `most` is their number; `of_one` is the number that one caller may have."""
        self._most = most
        self._of_one = of_one
        self._what = what
        self._taken_by: Counter[str] = Counter()
        self.taken = 0

    @contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """Takes one slot. Errors: Refused when all are taken, or all that this caller may have."""
        if self.taken >= self._most:
            raise service_unavailable(
                f"{self._most} {self._what} are open at this gateway already; come back later", RETRY_S
            )
        if self._taken_by[caller] >= self._of_one:
            raise too_many_requests(f"{self._of_one} {self._what} of yours are open at this gateway already", RETRY_S)
        self.taken += 1
        self._taken_by[caller] += 1
        try:
            yield
        finally:
            self.taken -= 1
            self._taken_by[caller] -= 1


class RequestLimit:
    def __init__(self, app: ASGIApp, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or path_of(scope) in UNLIMITED:
            await self._app(scope, receive, send)
            return
        with self._slots.one(_caller_in(scope)):
            await self._app(scope, receive, send)


class StreamLimit:
    """Stands behind the check of the body, since a body may ask for a stream."""

    def __init__(self, app: ASGIApp, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not asks_for_stream(scope):
            await self._app(scope, receive, send)
            return
        with self._slots.one(_caller_in(scope)):
            await self._app(scope, receive, send)


def _caller_in(scope: Scope) -> str:
    """Returns the caller, or "" where everybody may ask."""
    return str(scope.get("state", {}).get("caller", ""))


def asks_for_stream(scope: Scope) -> bool:
    """Says whether a request asks for a stream: a rollout's by its path, a call of OpenAI's API by its body (vLLM takes
    1 and "yes" for true).
    """
    body = scope.get(BODY)
    asked: bool = path_of(scope).endswith("/stream") or (
        isinstance(body, dict) and body.get("stream", False) not in (False, None)
    )
    return asked
