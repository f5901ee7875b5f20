"""Makes HTTP calls by aiohttp, for what `http1` does not support: proxies and streams."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from ray_gym.aio.pace import Pace
from ray_gym.engines.http1.connection import HttpResponse
from ray_gym.engines.http1.pool import READ_AT_ONCE
from ray_gym.proxies import unreached


def open_session(
    headers: Mapping[str, str], proxy: str | None, *, limit: int, connect_s: float, silence_s: float
) -> aiohttp.ClientSession:
    """Opens an aiohttp client session on the running event loop, which sends `headers` with every request, goes through
    `proxy` (None: directly) and keeps no cookies.

    `limit`: largest number of connections; further requests wait. `connect_s`: seconds to open a connection.
    `silence_s`: seconds without a byte after which a request fails.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s, sock_read=silence_s),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),  # a balancer's cookie would send every episode to one server
        proxy=proxy,
    )


class Proxied:
    """Calls a server through a proxy, with the interface of `http1.pool.Pool`."""

    def __init__(self, base_url: str, session: aiohttp.ClientSession) -> None:
        self._base_url = base_url
        self._session = session
        self._pace = Pace(READ_AT_ONCE)

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Sends a POST request to `base_url` with `path` appended, and returns the response. Redirects are not
        followed.

        Errors: ConnectionError if no response comes, also after a timeout; ValueError for headers that can't be sent.
        """
        url = f"{self._base_url}{path}"
        try:
            async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as response:
                given: dict[bytes, bytes] = {}
                for name, value in response.raw_headers:
                    given.setdefault(name.lower(), value)
                answer = HttpResponse(response.status, given, await response.read())
        except aiohttp.ClientError as error:
            raise ConnectionError(unreached(error, self._base_url)) from None
        if not self._pace.take_room():
            await self._pace.wait()
        return answer

    async def close(self) -> None:
        await self._session.close()
