"""Defines the file format of a journal: a head, then frames of a mark, a length, a checksum (CRC-32) and a payload.

A reader takes all whole frames. A torn end, a flipped bit or foreign bytes cost only the frames that they touch, and
are reported; the reader finds the next frame by its mark.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

HEAD = b"raygym-journal-1\n"
NO_JOURNAL = "not a journal (its head is another)"
MARK = b"\xc1\xf5RG"  # 0xc1 is the one byte that msgpack never writes
_HEADER = struct.Struct("<4sII")


def frame(payload: bytes) -> bytes:
    """Returns the frame of a payload: mark, length, checksum (CRC-32), payload."""
    return _HEADER.pack(MARK, len(payload), zlib.crc32(payload)) + payload


@dataclass(slots=True)
class Scan:
    """Iterates over the payloads in a file's bytes. The iteration fills `end` and `problems`."""

    data: bytes
    """Content of the file, or of a part of it."""
    headless: bool = False
    """True if `data` is a part from the middle of a file, without a head."""
    end: int = 0
    """Offset at which the last whole frame ends, after the iteration."""
    problems: list[str] = field(default_factory=list)
    """Descriptions of the damage that was found."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yields the offset of every whole frame, and its payload."""
        data = self.data
        position = 0 if self.headless else self._after_head()
        if position < 0:
            return
        self.end = position
        while position < len(data):
            payload = _payload_at(data, position)
            if payload is not None:
                self.end = position + _HEADER.size + len(payload)
                yield position, payload
                position = self.end
                continue
            following = _next_frame(data, position + 1)
            if following < 0:
                self.problems.append(
                    f"the record at byte {position} is torn; {len(data) - position} bytes are left out"
                )
                return
            self.problems.append(f"bytes {position} to {following} are damaged and left out")
            position = following

    def _after_head(self) -> int:
        """Returns the offset of the first whole frame; -1 if there is none and the head is missing, torn or another. A
        head that is not whole is reported in `problems`.
        """
        if self.data.startswith(HEAD):
            return len(HEAD)
        first = _next_frame(self.data, 0)
        if first >= 0:
            self.problems.append(f"its head is damaged; the {first} bytes before its first record are left out")
        elif not self.data:
            self.problems.append("empty")
        elif HEAD.startswith(self.data):
            self.problems.append("its head is torn")
        else:
            self.problems.append(NO_JOURNAL)
        return first


def _payload_at(data: bytes, position: int) -> bytes | None:
    """Returns the payload of the frame at a position; None if no whole frame begins there."""
    begin = position + _HEADER.size
    if begin > len(data):
        return None
    mark, length, checksum = _HEADER.unpack_from(data, position)
    payload = data[begin : begin + length]
    if mark != MARK or len(payload) < length or zlib.crc32(payload) != checksum:
        return None
    return payload


def _next_frame(data: bytes, position: int) -> int:
    """Returns the offset of the next whole frame from `position` on; -1 if there is none."""
    while (position := data.find(MARK, position)) >= 0 and _payload_at(data, position) is None:
        position += 1
    return position
