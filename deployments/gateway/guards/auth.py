"""Identifies callers: a bearer token is a caller's own, or the key of one session, with which only the paths of that
session can be used.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.tokens import digest
from ray_gym.openai_api.headers import key_of
from ray_gym.openai_api.refused import Refused

LOCAL = "local"
"""Name of the caller if the service has no tokens."""
OPEN = frozenset({"/healthz"})
"""Paths that need no token."""
SESSIONS = "/v1/sessions/"

bearer = HTTPBearer(
    auto_error=False,
    description="A caller's token, or the `api_key` of a session for its own paths. The header x-api-key may have it, too.",
)
"""Security scheme in the OpenAPI description. It checks nothing itself: `Authentication` has checked the token before
any route is reached.
"""


@dataclass(frozen=True)
class Doorkeeper:
    """Identifies callers by their tokens."""

    secret: bytes = field(repr=False)
    """The service's secret, with which the digests are keyed."""
    digests: Mapping[str, bytes] = field(repr=False)
    """Digests of the callers' tokens, by the caller's name; {} if no token is needed."""

    def identify(self, key: str | None, path: str) -> tuple[str, bool]:
        """Returns the caller's name, and True if it has only the key of a session. If the service has no tokens,
        callers without a session's key are `LOCAL`.

        `key`: key of the request; None without one. `path`: path of the request. Errors: Refused (401 without a valid
        token, 403 for the key of another session).
        """
        if key:
            if (known := self._find_by_token(key)) is not None:
                return known, False
            if (owner := self._find_by_session_key(key)) is not None:
                if not _is_of_session(path, key.rpartition(".")[0]):
                    raise Refused(403, "wrong_session", "this key opens the paths of its own session only")
                return owner, True
        if not self.digests:
            return LOCAL, False
        if key is None:
            raise Refused(401, "no_token", "a token is needed: Authorization: Bearer TOKEN")
        raise Refused(401, "wrong_token", "this is no token of the service: Authorization: Bearer TOKEN")

    def session_key(self, caller: str, session_id: str) -> str:
        """Returns the key of a session, which can be checked without a table of sessions. It is no longer valid once
        the caller has another token. Errors: KeyError if there is no caller of that name.
        """
        key = self.digests[caller] if self.digests else self._local
        return f"{session_id}.{_mac(key, session_id)}"

    @property
    def _local(self) -> bytes:
        return hmac.digest(self.secret, LOCAL.encode(), hashlib.sha256)

    def _find_by_token(self, given: str) -> str | None:
        """Returns the caller of a token, or None. The token is compared with all of them, even after a match, so that
        the time that it takes reveals nothing.
        """
        offered, found = digest(self.secret, given), None
        for name, known in self.digests.items():
            if hmac.compare_digest(offered, known):
                found = name
        return found

    def _find_by_session_key(self, given: str) -> str | None:
        session_id, _, mac = given.rpartition(".")
        found = None
        for name, key in (self.digests or {LOCAL: self._local}).items():
            if hmac.compare_digest(_mac(key, session_id).encode(), mac.encode()) and session_id:
                found = name
        return found


class Authentication:
    """Authenticates requests as a layer in front of the routes, so that no route can lack the check; only paths in
    `OPEN` need no token. It sets `caller` and `is_agent` in the request's state. If the service has no tokens, it
    checks the headers Host and Origin.

    Errors: Refused (401 without a valid token, 403 for another session's key or a wrong host or origin).
    """

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._doorkeeper = doorkeeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (path := path_of(scope)) not in OPEN:
            headers = Headers(scope=scope)
            if not self._doorkeeper.digests:
                check_host(headers.get("host", ""))
                check_origin(headers.get("origin"))
            caller, is_agent = self._doorkeeper.identify(key_of(headers), path)
            scope.setdefault("state", {}).update(caller=caller, is_agent=is_agent)
        await self._app(scope, receive, send)


def check_host(host: str) -> None:
    """Refuses requests whose Host header names another machine. Without tokens only this machine may call, and this
    keeps out web pages whose host name resolves to this machine's address (DNS rebinding). Errors: Refused (403).
    """
    if not is_loopback(_host_in(f"//{host}")):
        raise Refused(403, "wrong_host", "without tokens the service answers to loopback addresses only", "Host")


def check_origin(origin: str | None) -> None:
    """Refuses requests of other sites' web pages, which browsers name in the Origin header: without tokens, a page
    could send requests even if it may not read the answers. A request without that header (None) is accepted. Errors:
    Refused (403).
    """
    if not is_loopback_origin(origin):
        raise Refused(403, "wrong_origin", "without tokens the service answers to pages of this machine only", "Origin")


def is_loopback_origin(origin: str | None) -> bool:
    """Returns True if the Origin header of a request (None without one) names no other machine."""
    return origin is None or is_loopback(_host_in(origin))


def _host_in(url: str) -> str:
    """Returns the host of a URL; "" if it has none, or is malformed."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Returns True if a host is a loopback address, or localhost. Other names may resolve to any address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def path_of(scope: Scope) -> str:
    """Returns the path of a request by which routes are found, without the prefix that a proxy puts before it
    (`root_path`).
    """
    root, path = str(scope.get("root_path", "")), str(scope["path"])
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


async def caller_of(request: Request, _: Annotated[object, Depends(bearer)]) -> str:
    """Returns the name of a request's caller, as a FastAPI dependency. It is asynchronous, since FastAPI runs other
    dependencies in threads, which costs more than all layers in front of the routes.
    """
    caller: str = request.state.caller
    return caller


Caller = Annotated[str, Depends(caller_of)]
"""Parameter of a route that needs the caller's name."""


def _is_of_session(path: str, session_id: str) -> bool:
    return path == SESSIONS + session_id or path.startswith(f"{SESSIONS}{session_id}/")


def _mac(key: bytes, session_id: str) -> str:
    return hmac.new(key, b"session\0" + session_id.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()
