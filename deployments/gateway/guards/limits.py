"""Limits how many requests and streams one gateway has at once. Further ones are refused with Retry-After; they never
wait.
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
"""Seconds after which a refused client should retry."""
UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that need no slot: a full gateway answers them as well, since they report its state."""


class Slots:
    """Counts the requests or streams that are open in a gateway, in all and for each caller."""

    def __init__(self, most: int, of_one: int, what: str) -> None:
        """Creates slots that are all free.

        `most`: number of slots. `of_one`: number of slots that one caller may have. `what`: plural noun for errors,
        such as requests.
        """
        self._most = most
        self._of_one = of_one
        self._what = what
        self._taken_by: Counter[str] = Counter()
        self.taken = 0

    @contextmanager
    def take(self, caller: str) -> Iterator[None]:
        """Holds a slot for a caller, until the context that this opens ends. Errors: Refused (503 if all slots are
        taken, 429 if the caller has all that it may have).
        """
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
    """Holds a slot for every HTTP request while it is answered, as a layer in front of the routes. The paths in
    `UNLIMITED` need none. Errors: Refused (503 or 429) if there is no free slot.
    """

    def __init__(self, app: ASGIApp, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or path_of(scope) in UNLIMITED:
            await self._app(scope, receive, send)
            return
        with self._slots.take(_caller_in(scope)):
            await self._app(scope, receive, send)


class StreamLimit:
    """Holds a slot for every stream while it is open, as a layer in front of the routes. It comes after the layer that
    parses the body, which may ask for a stream. Errors: Refused (503 or 429) if there is no free slot.
    """

    def __init__(self, app: ASGIApp, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not asks_for_stream(scope):
            await self._app(scope, receive, send)
            return
        with self._slots.take(_caller_in(scope)):
            await self._app(scope, receive, send)


def _caller_in(scope: Scope) -> str:
    """Returns the name of a request's caller, "" for paths that need no token."""
    return str(scope.get("state", {}).get("caller", ""))


def asks_for_stream(scope: Scope) -> bool:
    """Returns True if a request asks for a stream: a path that ends with /stream does, and so does a body whose field
    `stream` has any value but false and null, as vLLM also accepts 1 and "yes".
    """
    body = scope.get(BODY)
    asked: bool = path_of(scope).endswith("/stream") or (
        isinstance(body, dict) and body.get("stream", False) not in (False, None)
    )
    return asked
