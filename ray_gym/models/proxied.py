"""Calls by aiohttp: through a proxy of the environment, or whose answers are streams."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from ray_gym.errors import describe
from ray_gym.models.http1.connection import Answer


def proxy_to(url: str) -> str | None:
    """Of the environment, asked once: aiohttp's `trust_env` asks in a thread, and reads ~/.netrc in another, at every call."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def open_session(
    base_url: str, headers: Mapping[str, str], *, limit: int, connect_s: float, silence_s: float
) -> aiohttp.ClientSession:
    """Belongs to the event loop that runs now."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s, sock_read=silence_s),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),  # a balancer's cookie would send every episode to one server
        proxy=proxy_to(base_url),
    )


class Proxied:
    """What `http1.pool.Pool` is to a server that can be reached directly."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, limit: int, connect_s: float, silence_s: float
    ) -> None:
        self._base_url = base_url
        self._session = open_session(base_url, headers, limit=limit, connect_s=connect_s, silence_s=silence_s)

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Errors: ConnectionError, TimeoutError; ValueError for headers that can't be sent."""
        url = f"{self._base_url}{path}"
        try:
            async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as response:
                given = {name.lower().encode(): value.encode() for name, value in response.headers.items()}
                return Answer(response.status, given, await response.read())
        except aiohttp.ClientError as error:
            raise ConnectionError(describe(error)) from None

    async def close(self) -> None:
        await self._session.close()
