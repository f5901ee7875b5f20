"""Requests that no HTTP client would send, over a plain socket."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

WITHIN_S = 30.0


@dataclass(frozen=True)
class RawAnswer:
    head: str
    body: bytes

    @property
    def status(self) -> int:
        """Returns the status of the answer; 0 if the connection was closed without one."""
        return int(self.head.split(" ", 2)[1]) if self.head else 0

    def json(self) -> Any:
        return json.loads(self.body)


def head(method: str, path: str, *headers: str, token: str | None = None, host: str = "localhost") -> bytes:
    given = [f"Host: {host}", *([f"Authorization: Bearer {token}"] if token else []), *headers]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *given, "", ""]).encode("latin-1")


def send(address: str, pieces: Iterable[bytes]) -> RawAnswer:
    """Until the first answer is whole, or the other side closes. What can't be written any more stays unwritten."""
    url = urlsplit(address)
    with socket.create_connection((url.hostname, url.port), timeout=WITHIN_S) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        return _answer(connection)


def _answer(connection: socket.socket) -> RawAnswer:
    found = b""
    with contextlib.suppress(ConnectionError):
        while not _is_whole(found) and (more := connection.recv(65536)):
            found += more
    first, _, rest = found.partition(b"\r\n\r\n")
    return RawAnswer(first.decode("latin-1"), rest)


def _is_whole(found: bytes) -> bool:
    first, end, rest = found.partition(b"\r\n\r\n")
    for line in first.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return bool(end) and len(rest) >= int(line.partition(b":")[2])
    return bool(end) and rest.endswith(b"0\r\n\r\n")
