"""Sends and receives frames on a TCP connection: a frame's length in four bytes (little-endian), then the frame."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

MOST_BYTES = 2**31
"""Largest number of bytes in a frame. A peer that sends a longer one does not speak this protocol."""
SILENCE_S = 30
"""Seconds after which the kernel closes a connection whose peer's host does not respond any more, or whose peer has
read nothing while its buffers were full.
"""

_LENGTH = struct.Struct("<I")


class Frames(asyncio.Protocol):
    """Frames are an asyncio protocol for one end of a TCP connection: each frame that is received is passed to
    `on_frame`.

    `on_lost` is called once, when the connection is lost or closed, with the error or None. Neither may raise.
    `most_bytes`: length of a received frame above which the connection is closed.
    """

    def __init__(
        self,
        on_frame: Callable[[bytes], None],
        on_lost: Callable[[Exception | None], None],
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.most_bytes = most_bytes
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._is_closed = False

    def send(self, *frames: bytes) -> None:
        """Sends frames by one write. They are dropped if the connection is not open yet, or not any more: `on_lost`
        reports a lost connection.
        """
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join([part for frame in frames for part in (_LENGTH.pack(len(frame)), frame)]))

    def close(self) -> None:
        """Closes the connection: nothing is received from now on, but all that was sent is still delivered."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._is_closed:
            self._transport.close()
        _notice_dead_hosts(self._transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        begins = 0
        while not self._is_closed and len(self._buffer) - begins >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, begins)
            if length > self.most_bytes:
                self.close()
                break
            ends = begins + _LENGTH.size + length
            if ends > len(self._buffer):
                break
            with memoryview(self._buffer) as view:
                frame = bytes(view[begins + _LENGTH.size : ends])
            begins = ends
            self._on_frame(frame)
        del self._buffer[:begins]

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closed = True
        self._on_lost(exc)


def _notice_dead_hosts(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE_S // 3)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, SILENCE_S // 3)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_S * 1000)
