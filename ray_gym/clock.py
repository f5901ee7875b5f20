"""The time of an episode: seconds that it was really played, over all its attempts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ActiveClock:
    """Goes on where a recorded call left it, and leaves out what was spent on a broken model."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._excluded_until = self._began
        self._limits: dict[asyncio.Timeout, float] = {}

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def go_on_from(self, elapsed_s: float) -> None:
        """A replayed call was answered when the episode was this old."""
        self._shift_to(time.monotonic() - elapsed_s)

    def exclude_since(self, moment: float) -> None:
        """The time since then (of `time.monotonic`) does not count; what several calls lost at once is left out once."""
        now = time.monotonic()
        lost = now - max(moment, self._excluded_until)
        self._excluded_until = now
        if lost > 0:
            self._shift_to(self._began + lost)

    @asynccontextmanager
    async def limit(self, at_s: float) -> AsyncIterator[asyncio.Timeout]:
        """Like `asyncio.timeout`, at an age of the episode. Errors: TimeoutError."""
        async with asyncio.timeout_at(self._when(at_s)) as timeout:
            self._limits[timeout] = at_s
            try:
                yield timeout
            finally:
                del self._limits[timeout]

    def _when(self, at_s: float) -> float:
        return asyncio.get_running_loop().time() + at_s - self.elapsed_s

    def _shift_to(self, began: float) -> None:
        self._began = began
        for timeout, at_s in self._limits.items():
            if not timeout.expired():
                timeout.reschedule(self._when(at_s))
