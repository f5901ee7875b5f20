"""Refuses headers that no honest client sends, before other code reads them."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ray_gym.openai_api.refused import Refused

IDEMPOTENCY_KEY, SESSION_ID = "Idempotency-Key", "X-Session-ID"
LONGEST_KEY = 200
"""Largest number of characters of the headers Idempotency-Key and X-Session-ID."""
LONGEST_TARGET = 8 * 2**10
"""Largest number of bytes of the path with its query."""
MOST_HEADERS = 100
"""Largest number of headers."""
MOST_HEADER_BYTES = 64 * 2**10
"""Largest number of bytes of all names and values of headers."""

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ROUTING = re.compile(
    rb"x[-_]session[-_]id|x[-_]request[-_]id|serve[-_]multiplexed[-_]model[-_]id|traceparent|tracestate"
)
"""Names of headers that Serve's proxy reads itself. It decodes them as UTF-8, and raises for values that are not."""
_PRINTABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class HeaderCheck:
    """Checks the path and the headers of every HTTP request, as a layer in front of the routes. Errors: Refused (400,
    414 or 431, as `check_headers` raises them).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            check_headers(scope)
        await self._app(scope, receive, send)


def check_headers(scope: Scope) -> None:
    """Checks the path and the headers of a request.

    Errors: Refused (400 if a header has control characters, is not ASCII though Serve's proxy reads it, or is a
    repeated or invalid Idempotency-Key or X-Session-ID; 414 if the path and its query are too long; 431 if there are
    too many headers, or too long ones).
    """
    if len(scope["path"]) + len(scope["query_string"]) > LONGEST_TARGET:
        raise Refused(414, "target_too_long", f"the path and its query are longer than {LONGEST_TARGET:,} bytes")
    sizes = [len(name) + len(value) for name, value in scope["headers"]]
    if len(sizes) > MOST_HEADERS or sum(sizes) > MOST_HEADER_BYTES:
        message = f"there may be {MOST_HEADERS} headers with {MOST_HEADER_BYTES:,} bytes"
        raise Refused(431, "too_many_headers", message)
    for name, value in scope["headers"]:
        if _CONTROL.search(value):
            raise _bad_header(name.decode("latin-1"), "has control characters in it")
        if _ROUTING.fullmatch(name.lower()) and not value.isascii():
            raise _bad_header(name.decode("latin-1"), "has to be ASCII")
    headers = Headers(scope=scope)
    for name in (IDEMPOTENCY_KEY, SESSION_ID):
        values = headers.getlist(name)
        if len(values) > 1:
            raise _bad_header(name, "is given more than once")
        if values and (len(values[0]) > LONGEST_KEY or not _PRINTABLE.fullmatch(values[0])):
            raise _bad_header(name, f"has to be 1 to {LONGEST_KEY} printable ASCII characters")


def _bad_header(name: str, what: str) -> Refused:
    return Refused(400, "bad_header", f"the header {name} {what}", name)
