"""Waits for descriptors and timers on one thread."""

from __future__ import annotations

import errno
import heapq
import itertools
import os
import selectors
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 2**16
"""Bytes that are read or written at once."""


class Timer:
    """A timer calls a function once, unless it is cancelled."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Loop:
    """A loop calls functions when descriptors are ready, or a time has come."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, dict[int, Callable[[], None]]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def on_read(self, descriptor: int, callback: Callable[[], None] | None) -> None:
        """Calls `callback` whenever the descriptor can be read; None stops that."""
        self._watch(descriptor, selectors.EVENT_READ, callback)

    def on_write(self, descriptor: int, callback: Callable[[], None] | None) -> None:
        """Calls `callback` whenever the descriptor can be written; None stops that."""
        self._watch(descriptor, selectors.EVENT_WRITE, callback)

    def later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Calls `callback` once after some seconds, and returns the timer."""
        timer = Timer(callback)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def forget(self, descriptor: int) -> None:
        """Stops watching a descriptor, before it is closed."""
        if self._watched.pop(descriptor, None) is not None:
            self._selector.unregister(descriptor)

    def run_once(self) -> None:
        """Waits for the next event, and calls what waits for it."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        wait = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
        for key, events in self._selector.select(wait):
            for event in (selectors.EVENT_READ, selectors.EVENT_WRITE):
                callback = self._watched.get(key.fd, {}).get(event) if events & event else None
                if callback is not None:
                    callback()
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            callback = heapq.heappop(self._timers)[2].callback
            if callback is not None:
                callback()

    def _watch(self, descriptor: int, event: int, callback: Callable[[], None] | None) -> None:
        watched = self._watched.setdefault(descriptor, {})
        before = sum(watched)
        if callback is None:
            watched.pop(event, None)
        else:
            watched[event] = callback
        mask = sum(watched)
        if not mask:
            del self._watched[descriptor]
            if before:
                self._selector.unregister(descriptor)
        elif not before:
            self._selector.register(descriptor, mask)
        elif mask != before:
            self._selector.modify(descriptor, mask)


class Outlet:
    """An outlet writes to a descriptor without blocking, and owns it."""

    def __init__(self, loop: Loop, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._loop = loop
        self._descriptor = descriptor
        self._bytes = bytearray()
        self._is_ending = self._is_closed = False

    def write(self, data: bytes) -> None:
        """Writes the data as the descriptor takes it. Data for a closed one is dropped."""
        if not (self._is_ending or self._is_closed):
            self._bytes += data
            self._flush()

    def end(self) -> None:
        """Closes the descriptor once all is written."""
        self._is_ending = True
        self._flush()

    def close(self) -> None:
        """Closes the descriptor at once."""
        if not self._is_closed:
            self._is_closed = True
            self._bytes.clear()
            self._loop.forget(self._descriptor)
            os.close(self._descriptor)

    def _flush(self) -> None:
        if self._is_closed:
            return
        try:
            while self._bytes:
                del self._bytes[: os.write(self._descriptor, self._bytes[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:  # nobody reads it any more
            self.close()
            return
        if self._bytes:
            self._loop.on_write(self._descriptor, self._flush)
        elif self._is_ending:
            self.close()
        else:
            self._loop.on_write(self._descriptor, None)


def read_some(descriptor: int) -> bytes | None:
    """Returns bytes of a descriptor that does not block; b"" at its end, None if there are none now."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise
