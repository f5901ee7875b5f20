"""Listens on Unix sockets for the programs of sandboxes, each of which may have so many connections at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

MOST_CONNECTIONS = 2048
"""Connections that the programs of one sandbox may have. Each takes a file of the worker, which has some ten thousand."""


_THEIRS = (HttpProcessingError, web.RequestPayloadError, ConnectionError)
"""Errors of the program at the other end: it sends what is no HTTP, or leaves."""


def _is_ours(record: logging.LogRecord) -> bool:
    """Says whether a record tells of an error that is not a program's, which may make one after the other."""
    return not (record.exc_info and isinstance(record.exc_info[1], _THEIRS))


LOG = logging.getLogger(f"{__name__}.http")
"""Log of the HTTP server behind the sockets."""
LOG.addFilter(_is_ours)


class Listener:
    """Listens on one socket. A connection beyond `MOST_CONNECTIONS` is closed at once."""

    def __init__(self, serve: Callable[[], asyncio.Protocol]) -> None:
        """Takes what makes the protocol of a connection."""
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._open: set[_Counted] = set()

    def __len__(self) -> int:
        """Returns the number of open connections."""
        return len(self._open)

    async def listen(self, path: Path) -> None:
        """Begins to listen. Errors: OSError."""
        self._server = await asyncio.get_running_loop().create_unix_server(self._connect, str(path))

    def close(self) -> None:
        """Listens no more, and ends all connections."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._open):
            connection.abort()

    def _connect(self) -> asyncio.Protocol:
        is_full = len(self._open) >= MOST_CONNECTIONS
        return _Refused() if is_full else _Counted(self._serve(), self._open)


class _Refused(asyncio.Protocol):
    """Closes a connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class _Counted(asyncio.Protocol):
    """Passes all that happens on a connection on to another protocol, and is among those that are open meanwhile."""

    def __init__(self, served: asyncio.Protocol, connections: set[_Counted]) -> None:
        self._connections = connections
        self._transport: asyncio.BaseTransport | None = None
        self._served = served
        self.data_received = served.data_received  # type: ignore[method-assign]
        self.eof_received = served.eof_received  # type: ignore[method-assign]
        self.pause_writing = served.pause_writing  # type: ignore[method-assign]
        self.resume_writing = served.resume_writing  # type: ignore[method-assign]
        connections.add(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._served.connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        self._served.connection_lost(error)

    def abort(self) -> None:
        """Ends the connection at once."""
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()
