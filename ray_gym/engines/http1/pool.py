"""Keeps the connections of a process to one server: one for each request in flight. They are reused afterwards."""

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
from ray_gym.engines.http1.connection import HttpConnection, HttpResponse
from ray_gym.errors import describe

KNOWN_S = 10.0
"""Seconds for which the addresses of a host name are cached, so that a thousand connections that are opened together
look them up once.
"""
READ_AT_ONCE = 12
"""Number of answers that callers get in one turn of the event loop. Each takes the loop 0.2 ms, until its episode has
made its next call. With 20, a thousand episodes in flight made the loop late by 54 ms (p99) instead of 42; the CPU time
of a call was the same.
"""
LOOKUP_S = 60.0
"""Seconds for the lookup of a host name: the first of several name servers may be dead."""
NEXT_ADDRESS_S = 0.25
"""Seconds without an answer from an address after which the next address is tried as well (RFC 8305)."""
_ACCEPTED = {"Accept": "*/*", "Accept-Encoding": "identity"}
_PATH_CHARACTERS = "/%:@!$&'()*+,;=~"


class Pool:
    """A pool holds connections to one server. It is safe for many concurrent calls on one event loop."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, limit: int, connect_s: float, silence_s: float
    ) -> None:
        """Creates a pool without connections.

        `base_url`: an http or https address. `headers`: sent with every request. `limit`: largest number of requests in
        flight; others wait. `connect_s`: seconds to open a connection. `silence_s`: seconds without a byte after which
        a request fails. Errors: ValueError for headers that can't be sent, and for a host name that is not valid.
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
        self._idle: list[HttpConnection] = []
        """Idle connections. The last used is used next, so that superfluous ones expire."""
        self._is_closed = False
        self._pace = Pace(READ_AT_ONCE)
        self._addresses: list[Any] = []
        self._addresses_until = 0.0
        self._lookup: asyncio.Task[None] | None = None
        """Lookup that all waiting callers share. It is not cancelled with them."""

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Sends a POST request, and returns the response. `path` is appended to the path of `base_url`.

        Errors: ConnectionError if the server can't be reached, or the connection breaks; TimeoutError if nothing comes
        for `silence_s` seconds; ValueError for headers that can't be sent.
        """
        own = f"POST {self._path}{path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n{_lines(headers)}"
        request = (own.encode(), self._common, body)
        async with self._slots:
            connection = self._take_idle() or await self._open()
            return await connection.ask(request)

    async def close(self) -> None:
        """Closes the idle connections. Requests that have a connection are still answered; those that wait for the
        lookup of the host name are cancelled.
        """
        self._is_closed = True
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)
        while self._idle:
            self._idle.pop().close()

    def _keep(self, connection: HttpConnection) -> None:
        if self._is_closed:
            connection.close()
        else:
            self._idle.append(connection)

    def _take_idle(self) -> HttpConnection | None:
        """Returns the idle connection that was used last, None if there is none. Closes those that can't be reused."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_reusable:
                return connection
            connection.close()
        return None

    async def _open(self) -> HttpConnection:
        """Opens a connection. Errors: ConnectionError if that fails, or takes longer than `connect_s` seconds."""
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
                    lambda: HttpConnection(self._silence_s, self._pace, self._keep),
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
        ) as error:  # libraries raise the last two where others raise OSError
            raise ConnectionError(f"can't connect to {self._host}:{self._port}: {describe(error)}") from None
        return connection

    async def _look_up_if_due(self, loop: asyncio.AbstractEventLoop) -> None:
        """Looks up the server's addresses, unless they are cached. Callers at the same time share one lookup. Errors:
        OSError if the lookup fails, TimeoutError after `LOOKUP_S` seconds.
        """
        if loop.time() < self._addresses_until:
            return
        if self._lookup is None or self._lookup.done():
            self._lookup = asyncio.create_task(self._look_up(loop))
        await asyncio.shield(self._lookup)

    async def _look_up(self, loop: asyncio.AbstractEventLoop) -> None:
        """Looks up the server's addresses, and loads the certificates that TLS needs. Errors: OSError if the lookup
        fails, TimeoutError after `LOOKUP_S` seconds.
        """
        async with asyncio.timeout(LOOKUP_S):
            if self._is_secure and self._tls is None:
                self._tls = await asyncio.to_thread(ssl.create_default_context)
            self._addresses = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            self._addresses_until = loop.time() + KNOWN_S


def _host(parts: SplitResult) -> str:
    """Returns the value of the Host header for an address. Errors: ValueError for a host name that is not valid."""
    name = parts.hostname or ""
    name = f"[{name}]" if ":" in name else name.encode("idna").decode()
    return f"{name}:{parts.port}" if parts.port else name


def _lines(headers: Mapping[str, str]) -> str:
    """Returns headers as lines of a request. Errors: ValueError for a header with a line break."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
        raise ValueError("a header can't have a line break in it")
    return lines
