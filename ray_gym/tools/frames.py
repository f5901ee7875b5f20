"""Sends and receives frames between a worker and its zygotes, the processes that isolated tools are forked from."""

from __future__ import annotations

import json
import socket
import struct

LENGTH = struct.Struct(">Q")
"""Header of a frame on the socket: the number of bytes that follow."""


ZygoteReply = list[str]
"""A zygote's reply is one of [answer, text], [refused, message], [refused, message, content], [failure, kind, where,
message, traceback], [raised, message], [raised, message, place, traceback], [died, how].
"""


def receive(channel: socket.socket) -> bytes:
    """Reads one frame, and returns its bytes. Errors: EOFError if the other end is closed, or OSError."""
    return _read_exactly(channel, LENGTH.unpack(_read_exactly(channel, LENGTH.size))[0])


def _read_exactly(channel: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = channel.recv(min(size - len(data), 2**20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def send(channel: socket.socket, reply: ZygoteReply) -> None:
    """Writes a reply as one frame of JSON. Errors: OSError if the other end is closed."""
    data = json.dumps(reply).encode()
    channel.sendall(LENGTH.pack(len(data)) + data)
