"""Sends messages between a worker and the process that isolated tools are forked from."""

from __future__ import annotations

import json
import socket
import struct

LENGTH = struct.Struct(">Q")
"""Header of a frame on the socket: the number of bytes that follow."""


Reply = list[str]
"""A reply is one of [answer, text], [refused, message], [refused, message, content], [failure, kind, where, message],
[raised, message], [died, how]."""


def receive(channel: socket.socket) -> bytes:
    """Reads one frame. Errors: EOFError when the other end is closed."""
    return _exactly(channel, LENGTH.unpack(_exactly(channel, LENGTH.size))[0])


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = channel.recv(min(size - len(data), 2**20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def send(channel: socket.socket, reply: Reply) -> None:
    data = json.dumps(reply).encode()
    channel.sendall(LENGTH.pack(len(data)) + data)
