"""In Serve's own HTTP proxy, before it reads anything: headers that it would fail on, and pages of its own that need no token."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from deployments.gateway.errors import answer
from deployments.gateway.headers import check_headers
from ray_gym.service.errors import Refused

CALLBACK: Mapping[str, str] = {"RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "deployments.gateway.proxy.middlewares"}
"""The environment variable by which a proxy finds what is here; a Serve that somebody else has started does without."""
ROUTES = "/-/routes"
"""Where Serve tells everybody which applications there are."""


def middlewares() -> list[Middleware]:
    return [Middleware(ProxyGuard)]


class ProxyGuard:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                check_headers(scope)
                if scope["path"] == ROUTES:
                    raise Refused(404, "not_found", "Not Found")
            except Refused as refused:
                await answer(refused, {"Connection": "close"})(scope, receive, send)
                return
        await self._app(scope, receive, send)
