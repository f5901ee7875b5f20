"""Adds a layer to Serve's own HTTP proxy. It refuses headers on which the proxy would raise, hides the proxy's own
pages, which need no token, and rewords the proxy's own refusals.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.errors import error_response
from ray_gym.deployments.gateway.guards.headers import check_headers
from ray_gym.deployments.gateway.guards.pace import PACED, Meter
from ray_gym.openai_api.refused import Refused, service_unavailable

CALLBACK = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"
ENVIRONMENT: Mapping[str, str] = {
    CALLBACK: "ray_gym.deployments.gateway.proxy.middlewares",
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "1",  # a dead proxy is replaced after three checks
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # else Serve ends one that takes 5 s to start, as it does on a busy machine
}
"""Environment variables by which Serve's proxies find this module, and are checked often. A Serve that another program
has started lacks them.
"""
ROUTES = "/-/routes"
"""Path of a page of Serve that lists the applications."""
RETRY_S = 2
"""Seconds after which a client should retry if a replica died, or none has room."""


def middlewares() -> list[Middleware]:
    """Returns the layers that Serve's proxy adds to itself. The proxy calls this function by the environment variable
    `CALLBACK`.
    """
    return [Middleware(ProxyGuard)]


class ProxyGuard:
    """Checks the headers of requests in the proxy, meters how fast clients take their answers, and answers 503 for a
    replica that died before it answered.
    """

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
            await error_response(refused, scope, {"Connection": "close"})(scope, receive, send)
            return
        scope[PACED] = True
        meter = Meter(receive, _RewordedAnswer(scope, receive, send).send)
        try:
            await self._app(scope, meter.receive, meter.send)
            if not meter.started and not meter.is_gone:
                # The replica died, or was shut down, before it answered: Serve itself sends nothing then.
                await _unavailable("a part of the service went away with this request", scope)(scope, receive, send)
        finally:
            await meter.close()


class _RewordedAnswer:
    """Sends an answer, but replaces one that is Serve's own refusal (all replicas are full, or there are none) by the
    gateway's error 503.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._replaced = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_refusal_of_serve(message):
            self._replaced = True
            await _unavailable("the service is not up, or has no room", self._scope)(
                self._scope, self._receive, self._send
            )
        elif not self._replaced:
            await self._send(message)


def _is_refusal_of_serve(message: Message) -> bool:
    """Returns True if the head of an answer is that of Serve's own refusal: status 404 or 503, and plain text without a
    Content-Length. Refusals of the gateway have one.
    """
    headers = Headers(raw=[(bytes(name), bytes(value)) for name, value in message["headers"]])
    is_plain = headers.get("content-type", "").startswith("text/plain")
    return message["status"] in (404, 503) and is_plain and "content-length" not in headers


def _unavailable(what: str, scope: Scope) -> ASGIApp:
    return error_response(service_unavailable(f"{what}; come back in a moment", RETRY_S), scope)
