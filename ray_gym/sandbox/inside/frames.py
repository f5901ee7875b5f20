"""Packs and reads the frames that the worker and the supervisor send each other: a JSON object, and bytes after it."""

from __future__ import annotations

import json
import struct

HEADER = struct.Struct(">II")
"""Bytes of the JSON object, and bytes of data after it."""
MOST_BYTES = 2**28
"""Bytes that either of the two may have."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def pack(message: Message, data: bytes = b"") -> bytes:
    """Returns a frame. Errors: ValueError if it would be too long."""
    text = json.dumps(message).encode()
    check_sizes(len(text), len(data))
    return HEADER.pack(len(text), len(data)) + text + data


def check_sizes(text: int, data: int) -> None:
    """Refuses parts that are too long. Errors: ValueError for more than `MOST_BYTES`."""
    if max(text, data) > MOST_BYTES:
        raise ValueError(f"a frame of {text} and {data} bytes is too long; {MOST_BYTES} is the most")


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[tuple[Message, bytes]]:
        """Takes the next bytes of the stream, and returns the frames that are whole with them.

        Errors: ValueError for a frame that is too long, or has no JSON object.
        """
        self._bytes += data
        whole = []
        while len(self._bytes) >= HEADER.size:
            text, rest = HEADER.unpack_from(self._bytes)
            check_sizes(text, rest)
            end = HEADER.size + text + rest
            if len(self._bytes) < end:
                break
            message = json.loads(self._bytes[HEADER.size : HEADER.size + text])
            if not isinstance(message, dict):
                raise ValueError("a frame has no JSON object")
            whole.append((message, bytes(self._bytes[HEADER.size + text : end])))
            del self._bytes[:end]
        return whole
