"""Calls a resources server over HTTP, with one client in each worker process and one cookie jar for each session.

It does not interpret the calls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from ray_gym.aio.backoff import pause_s
from ray_gym.envs.nemo_gym.headers import Headers
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.printable import beginning
from ray_gym.proxies import answered_through, proxy_to, unreached

CONNECT_TIMEOUT_S = 5.0
"""Seconds for a connection to open."""
KEPT_ALIVE_S = 4.0
"""Seconds that an idle connection is kept. uvicorn closes one after 5 s, so none is used that the server is about to
close."""
MAX_CONNECTIONS = 1024

Cookies = Mapping[str, str]
"""Values of cookies by name, as they go over the wire."""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """Holds the answer of a server."""

    status: int
    """HTTP status."""
    text: str
    cookies: Cookies = field(default_factory=dict)
    """Cookies that the server set with this answer."""

    def json(self) -> Any:
        """Reads the text as JSON, and returns the value. Errors: ValueError if it is no JSON."""
        return json.loads(self.text)


class ResourcesServer:
    """Calls a resources server for many sessions on one event loop. It is pickled without its connections, which are
    opened at the first call.
    """

    def __init__(
        self, base_url: str, headers: Headers, timeout_s: float, retries: int, first_pause_s: float = 0.5
    ) -> None:
        self.base_url = base_url
        self.headers = headers
        self._timeout_s = timeout_s
        self._retries = retries
        self.first_pause_s = first_pause_s
        self._session: aiohttp.ClientSession | None = None
        self._routes: dict[str, Any] | None = None
        self.outages = 0
        """Number of refused connections. A server that was started again has lost its sessions."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None, "_routes": None}

    async def post(self, path: str, body: str, cookies: Cookies, *, repeatable: bool) -> ServerAnswer:
        """Makes one call with JSON text as `body`, and returns the answer.

        A call that the server did not begin (no connection, status 429 or 503) is made again. A `repeatable` call is
        also made again if it may have been carried out (connection lost, status 408, 502 or 504), or if it failed (any
        other status from 500; the last such answer is returned). Errors: EpisodeFailure (infra) when the retries are
        used up without an answer, or at once if the call must not be made twice.
        """
        tried = 0
        while True:
            answer = await self._try(path, body, cookies, repeatable)
            is_last = tried == self._retries
            if isinstance(answer, ServerAnswer):
                if is_last or not (repeatable and answer.status >= 500):
                    return answer
            elif is_last or not answer.retry:
                raise self._failure(f"POST {path}: {answer.problem} (tried {tried + 1} times)")
            await asyncio.sleep(pause_s(tried, self.first_pause_s))
            tried += 1

    async def routes(self) -> Mapping[str, Any]:
        """Returns the paths of the server's OpenAPI description; empty if it has none that can be read. The server is
        asked until it has answered once, and never again. Errors: EpisodeFailure (infra) when the retries are used up.
        """
        for tried in range(self._retries + 1):
            if self._routes is not None:
                return self._routes
            if tried:
                await asyncio.sleep(pause_s(tried - 1, self.first_pause_s))
            try:
                async with self._client().get(f"{self.base_url}/openapi.json") as response:
                    if response.status < 500:
                        described = await response.json(content_type=None) if response.status == 200 else {}
                        self._routes = dict(described.get("paths", {}))
                    problem = f"HTTP {response.status}{self.answered_through(response.status, await response.text())}"
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self._count(error)
                problem = unreached(error, self.base_url)
            except (ValueError, AttributeError, TypeError):
                self._routes = {}
        if self._routes is not None:
            return self._routes
        raise self._failure(f"GET /openapi.json: {problem} (tried {self._retries + 1} times)")

    def explain(self, answer: ServerAnswer) -> str:
        """Returns status and text of an answer in one line, without secrets, and with at most 500 characters of the
        text. A proxy that may have given the answer is named.
        """
        shown = beginning(" ".join(self.headers.hide(answer.text).split()), 497)
        return f"HTTP {answer.status}: {shown}{self.answered_through(answer.status, answer.text)}"

    def answered_through(self, status: int, text: str) -> str:
        """Returns a text that names the proxy before the server if an answer may be the proxy's own, else ""."""
        return answered_through(self.base_url, status, text)

    async def close(self) -> None:
        """Closes the connections. A later call opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _try(self, path: str, body: str, cookies: Cookies, repeatable: bool) -> ServerAnswer | _NoAnswer:
        headers = {"Content-Type": "application/json"}
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        url = f"{self.base_url}{path}"
        try:
            async with self._client().post(url, data=body.encode(), headers=headers, allow_redirects=False) as got:
                given = {name: morsel.coded_value for name, morsel in got.cookies.items()}
                answer = ServerAnswer(got.status, (await got.read()).decode(errors="replace"), given)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            self._count(error)
            return _NoAnswer(unreached(error, self.base_url), retry=True)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _NoAnswer(unreached(error, self.base_url), retry=repeatable)
        if answer.status in _NOT_TAKEN_STATUSES:
            return _NoAnswer(self.explain(answer), retry=True)
        if answer.status in _GATEWAY_STATUSES:
            return _NoAnswer(self.explain(answer), retry=repeatable)
        return answer

    def _count(self, error: Exception) -> None:
        is_refused = isinstance(getattr(error, "os_error", None), ConnectionRefusedError)
        self.outages += is_refused and not isinstance(error, aiohttp.ClientProxyConnectionError)

    def _client(self) -> aiohttp.ClientSession:
        """Returns the client, and makes it at the first call, since it belongs to the running event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEPT_ALIVE_S),
                timeout=aiohttp.ClientTimeout(
                    total=self._timeout_s, sock_connect=min(CONNECT_TIMEOUT_S, self._timeout_s)
                ),
                cookie_jar=aiohttp.DummyCookieJar(),  # sessions must not get each other's
                headers=self.headers.values,
                proxy=proxy_to(self.base_url),
            )
        return self._session

    def _failure(self, problem: str) -> EpisodeFailure:
        return EpisodeFailure(FailureKind.INFRA, f"resources server {self.base_url}", problem)


_NOT_TAKEN_STATUSES = frozenset({429, 503})
"""Statuses with which the server refuses a call that it did not begin."""
_GATEWAY_STATUSES = frozenset({408, 502, 504})
"""Statuses with which a gateway gives up. Then the server may have carried out the call."""


@dataclass(frozen=True, slots=True)
class _NoAnswer:
    """Says why a call has no answer, and whether it may be made again."""

    problem: str
    retry: bool
