"""Runs in Serve's own HTTP proxy. It refuses headers that the proxy would fail on, hides pages of its own that need no
token, and rewords the proxy's own answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.errors import answer
from ray_gym.deployments.gateway.guards.headers import check_headers
from ray_gym.deployments.gateway.guards.pace import PACED, Meter
from ray_gym.openai_api.refused import Refused, service_unavailable

CALLBACK = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"
ENVIRONMENT: Mapping[str, str] = {
    CALLBACK: "ray_gym.deployments.gateway.proxy.middlewares",
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "1",  # one that has died is replaced after three looks
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # else Serve ends one that takes 5 s to start, as it does on a busy machine
}
"""Environment variables by which a proxy finds this module, and is watched; a Serve that somebody else has started does
without.
"""
ROUTES = "/-/routes"
"""Path where Serve tells everybody which applications there are."""
RETRY_S = 2
"""Seconds after which a client should retry, when a replica is gone, or none has room."""


def middlewares() -> list[Middleware]:
    return [Middleware(ProxyGuard)]


class ProxyGuard:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            check_headers(scope)
            if scope["path"] == ROUTES:
                raise Refused(404, "not_found", "Not Found")
        except Refused as refused:
            await answer(refused, {"Connection": "close"})(scope, receive, send)
            return
        scope[PACED] = True
        meter = Meter(receive, _Reworded(scope, receive, send).send)
        try:
            await self._app(scope, meter.receive, meter.send)
            if not meter.started and not meter.is_gone:
                # The replica died, or was shut down, with the request in it: Serve leaves that to its HTTP server.
                await _lost("a part of the service went away with this request")(scope, receive, send)
        finally:
            await meter.close()


class _Reworded:
    """Serve's own refusals are reworded as the gateway would say them: all replicas are full, or there are none (yet,
    or any more).
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._replaced = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_refusal_of_serve(message):
            self._replaced = True
            await _lost("the service is not up, or has no room")(self._scope, self._receive, self._send)
        elif not self._replaced:
            await self._send(message)


def _is_refusal_of_serve(message: Message) -> bool:
    """Says whether an answer is Serve's own refusal: it has no length; answers of applications have one, or are
    streams, which are no refusals.
    """
    headers = Headers(raw=[(bytes(name), bytes(value)) for name, value in message["headers"]])
    is_plain = headers.get("content-type", "").startswith("text/plain")
    return message["status"] in (404, 503) and is_plain and "content-length" not in headers


def _lost(what: str) -> ASGIApp:
    return answer(service_unavailable(f"{what}; come back in a moment", RETRY_S))
