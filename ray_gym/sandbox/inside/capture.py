"""Keeps the beginning and the end of what a program prints, so that a flood takes no memory."""

from __future__ import annotations


class Capture:
    """A capture keeps the first `head` and the last `tail` bytes, and counts those between them."""

    def __init__(self, head: int, tail: int) -> None:
        self._head_size, self._tail_size = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> bytes:
        """Takes the next bytes, and returns those of them that belong to the beginning."""
        first = data[: self._head_size - len(self._head)]
        self._head += first
        self._tail += data[len(first) :]
        if len(self._tail) > 2 * self._tail_size + 2**16:
            self._trim()
        return first

    def end(self) -> bytes:
        """Returns all that was kept. `dropped` has the number of bytes that are missing before its last part."""
        self._trim()
        return bytes(self._head + self._tail)

    def _trim(self) -> None:
        more = max(0, len(self._tail) - self._tail_size)
        del self._tail[:more]
        self.dropped += more
