"""Keeps others out of a viewer: it answers only requests for its own address, from its own page, with its token."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "ray_gym_viewer"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: nothing inline, and nothing from elsewhere."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Guard:
    """Refuses requests before they reach the application.

    A page of another origin can't read answers (it has no right to), nor can it have a name of its own resolve to this
    machine: the header Host has to be one of `hosts`. What changes something has to come from this viewer's own page.
    """

    app: ASGIApp
    hosts: Collection[str]
    """Values of the header Host that are the viewer's own, with the port."""
    token: str | None = field(repr=False)
    """Token that a request needs in its cookie, or once in the address; None if only this machine reaches the viewer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._answer(scope)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        await self.app(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """Returns the answer to a request that does not reach the application; None for one that does."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("this is not the viewer's address: open the one that it printed\n", 421)
        if scope["method"] not in ("GET", "HEAD") and headers.get("sec-fetch-site") not in ("same-origin", None):
            return PlainTextResponse("notes are written by the viewer's own page only\n", 403)
        if self.token is None or self._has(_cookie(headers.get("cookie", ""))):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._has(given):
            return PlainTextResponse("a token is needed: open the address that the viewer printed\n", 401)
        entered = RedirectResponse(scope["path"], 303)
        entered.set_cookie(COOKIE, given, httponly=True, samesite="strict")
        return entered

    def _has(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _with_headers(send: Send) -> Send:
    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return told
