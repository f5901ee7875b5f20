"""Keeps the connections of a process to one server: as many as there are requests under way, and used again
afterwards.
"""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from aiohappyeyeballs import start_connection

from ray_gym.aio.pace import Pace
from ray_gym.engines.http1.connection import Answer, Connection
from ray_gym.errors import describe

KNOWN_S = 10.0
"""Seconds that a name's addresses are known: a thousand connections that are opened together ask for them once."""
READ_AT_ONCE = 12
"""Answers that are given to their callers in one turn of the event loop. Each takes it 0.2 ms, with what follows, until
its episode has asked again. With 20, a thousand episodes in flight made the loop late by 54 ms (p99) instead of 42; a
call cost the same.
"""
LOOKUP_S = 60.0
"""Seconds for finding a name's addresses: the first of several name servers may be dead."""
NEXT_ADDRESS_S = 0.25
"""Seconds after which an address that has not answered is no longer waited for alone (RFC 8305)."""
_ACCEPTED = {"Accept": "*/*", "Accept-Encoding": "identity"}
_PATH_CHARACTERS = "/%:@!$&'()*+,;=~"


class Pool:
    """A pool holds connections to one server. It is safe for many concurrent calls on one event loop."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, limit: int, connect_s: float, silence_s: float
    ) -> None:
        """Creates a pool without connections.
        `base_url` is http or https; `headers` go with every request; no more than `limit` requests are under way,
        others wait. `connect_s`: seconds to open a connection. `silence_s`: seconds without a byte after which an
        answer is lost.
        Errors: ValueError for headers that can't be sent, and names that no host can have.
        """
        parts = urlsplit(base_url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._is_secure = parts.scheme == "https"
        self._tls: ssl.SSLContext | None = None
        self._path = quote(parts.path, safe=_PATH_CHARACTERS)
        self._common = f"{_lines({'Host': _host(parts), **_ACCEPTED, **headers})}\r\n".encode()
        self._connect_s = connect_s
        self._silence_s = silence_s
        self._slots = asyncio.Semaphore(limit)
        self._resting: list[Connection] = []
        """Connections at rest. The last used is used next: each rests as briefly as it can, and superfluous ones
        expire.
        """
        self._is_closed = False
        self._pace = Pace(READ_AT_ONCE)
        self._addresses: list[Any] = []
        self._addresses_until = 0.0
        self._lookup: asyncio.Task[None] | None = None
        """Lookup that all waiting callers share. It goes on for later callers when these are gone."""

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Sends a POST request, and returns its answer.
        Errors: ConnectionError, TimeoutError; ValueError for headers that can't be sent.
        """
        own = f"POST {self._path}{path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n{_lines(headers)}"
        request = (own.encode(), self._common, body)
        async with self._slots:
            connection = self._rested() or await self._opened()
            return await connection.ask(request)

    async def close(self) -> None:
        """Closes the connections at rest. Requests under way are still answered."""
        self._is_closed = True
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)
        while self._resting:
            self._resting.pop().close()

    def _rest(self, connection: Connection) -> None:
        if self._is_closed:
            connection.close()
        else:
            self._resting.append(connection)

    def _rested(self) -> Connection | None:
        while self._resting:
            connection = self._resting.pop()
            if connection.may_be_used_again:
                return connection
            connection.close()
        return None

    async def _opened(self) -> Connection:
        """Opens a connection. Errors: ConnectionError."""
        loop = asyncio.get_running_loop()
        try:
            await self._look_up_if_due(loop)
            addresses = random.sample(self._addresses, len(self._addresses))  # each server of a name gets its share
            async with asyncio.timeout(self._connect_s):
                connected = await start_connection(
                    addresses, happy_eyeballs_delay=NEXT_ADDRESS_S, interleave=1, loop=loop
                )
                name = self._host.rstrip(".") if self._tls else None
                _, connection = await loop.create_connection(
                    lambda: Connection(self._silence_s, self._pace, self._rest),
                    sock=connected,
                    ssl=self._tls,
                    server_hostname=name,
                )
        except TimeoutError:
            raise ConnectionError(f"can't connect to {self._host}:{self._port}: no answer in time") from None
        except (
            OSError,
            RuntimeError,
            ValueError,
        ) as error:  # the last two from below, for what is an OSError elsewhere
            raise ConnectionError(f"can't connect to {self._host}:{self._port}: {describe(error)}") from None
        return connection

    async def _look_up_if_due(self, loop: asyncio.AbstractEventLoop) -> None:
        """Looks the server's addresses up, unless they are known. Errors: OSError, TimeoutError."""
        if loop.time() < self._addresses_until:
            return
        if self._lookup is None or self._lookup.done():
            self._lookup = asyncio.create_task(self._look_up(loop))
        await asyncio.shield(self._lookup)

    async def _look_up(self, loop: asyncio.AbstractEventLoop) -> None:
        """Finds the name's addresses, and loads the certificates that TLS needs."""
        async with asyncio.timeout(LOOKUP_S):
            if self._is_secure and self._tls is None:
                self._tls = await asyncio.to_thread(ssl.create_default_context)
            self._addresses = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            self._addresses_until = loop.time() + KNOWN_S


def _host(parts: SplitResult) -> str:
    """Returns the host as a request's Host header names it. Errors: ValueError."""
    name = parts.hostname or ""
    name = f"[{name}]" if ":" in name else name.encode("idna").decode()
    return f"{name}:{parts.port}" if parts.port else name


def _lines(headers: Mapping[str, str]) -> str:
    """Returns headers as lines of a request. Errors: ValueError for a line break, which would end a header early."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
        raise ValueError("a header can't have a line break in it")
    return lines
