"""Wraps the whole application: gives every request an id and every answer the security headers, and answers the errors
that no other layer has answered.
"""

from __future__ import annotations

import logging
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ray_gym.anthropic_api.errors import speaks_messages
from ray_gym.deployments.gateway.guards.auth import path_of
from ray_gym.deployments.gateway.guards.errors import error_response, internal_error, refusal_of

logger = logging.getLogger("ray_gym.gateway")

REQUEST_ID = "X-Request-ID"
ANTHROPICS_ID = "request-id"
"""Name of that header for clients of Anthropic's API."""
LONGEST_ID = 128
"""Number of characters of a client's request id that are kept."""
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Surface:
    """Gives every request an id and every answer the security headers, answers the errors that no other layer has
    answered, and refuses websockets. It wraps all layers but metrics and pacing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # there are none
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get(REQUEST_ID)
        request_id = given[:LONGEST_ID] if given else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if given is None:  # Serve's proxy sets it in every request, and in the answer
                    headers[REQUEST_ID] = request_id
                if speaks_messages(path_of(scope)):
                    headers[ANTHROPICS_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return
        except Exception as error:
            refused = refusal_of(error)
            if refused is None:
                logger.exception("request %r: %s %r failed", request_id, scope["method"], scope["path"])
            if started:
                raise  # the connection is closed, so that the client sees that the answer is incomplete
            response = error_response(refused or internal_error(request_id), scope, getattr(error, "headers", None))
            await response(scope, receive, send_with_headers)
