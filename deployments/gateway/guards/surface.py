"""Wraps the whole application: every request has an id, every answer the headers that keep browsers from guessing, and
no error gets through.
"""

from __future__ import annotations

import logging
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.errors import answer, refusal_of, unforeseen

logger = logging.getLogger("ray_gym.gateway")

REQUEST_ID = "X-Request-ID"
LONGEST_ID = 128
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Surface:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # no route has any, so nothing has to guard them
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

        async def tell(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if given is None:  # Serve's proxy gives one to every request, and puts it on the answer itself
                    headers[REQUEST_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, tell)
        except ClientDisconnect:
            return
        except Exception as error:
            refused = refusal_of(error)
            if refused is None:
                logger.exception("request %r: %s %r failed", request_id, scope["method"], scope["path"])
            if started:
                raise  # the connection is cut, so that the client sees that the answer is not whole
            response = answer(refused or unforeseen(request_id), getattr(error, "headers", None))
            await response(scope, receive, tell)
