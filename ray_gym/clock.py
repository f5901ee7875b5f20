"""The time of an episode: seconds that it was really played, over all its attempts."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

REPLAY_S = 600.0
"""At least this long may a replay take, whatever the limits of live play are."""

Result = TypeVar("Result")

_running: ContextVar[ActiveClock] = ContextVar("the clock of the episode that a model is called for")


async def counted_by(clock: ActiveClock, call: Awaitable[Result]) -> Result:
    """A model call, on an episode's clock."""
    token = _running.set(clock)
    try:
        return await call
    finally:
        _running.reset(token)


def exclude(since: float, next_s: float = 0) -> None:
    """For engines that try again by themselves: this time is not the calling episode's (see `ActiveClock.exclude`)."""
    clock = _running.get(None)
    if clock is not None:
        clock.exclude(since, next_s)


class ActiveClock:
    """Goes on where a recorded call left it, and stands still while a broken model, or a turn to ask one, is waited for."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._stands_until = -math.inf
        self._stands_since = math.inf
        self._waiting = 0
        self._going_on = 0
        self._is_replaying = False
        self._limits: dict[asyncio.Timeout, float] = {}

    @property
    def elapsed_s(self) -> float:
        return self._now() - self._began

    def go_on_from(self, elapsed_s: float) -> None:
        """A replayed call was answered when the episode was this old."""
        self._shift_to(self._now() - elapsed_s)

    def exclude(self, since: float, next_s: float = 0) -> None:
        """The time since then (of `time.monotonic`), and the next seconds, do not count; what several calls lose at once counts once."""
        until = time.monotonic() + next_s
        lost = until - max(min(since, self._stands_since), self._stands_until)
        if lost > 0:
            self._stands_until = until
            self._shift_to(self._began + lost)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """For a turn to ask a model, however long: time in which nothing else goes on (`going_on`) does not count, and limits wait too."""
        self._waiting += 1
        self._stand_or_go()
        try:
            yield
        finally:
            self._waiting -= 1
            self._stand_or_go()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Something that others of the episode may be waiting for: this does count."""
        self._going_on += 1
        self._stand_or_go()
        try:
            yield
        finally:
            self._going_on -= 1
            self._stand_or_go()

    def replaying(self, replaying: bool) -> None:
        """While recorded calls are answered again, limits do not count what was played before; each gets time enough for the replay."""
        self._is_replaying = replaying
        self._shift_to(self._began)

    @asynccontextmanager
    async def limit(self, at_s: float) -> AsyncIterator[asyncio.Timeout]:
        """Like `asyncio.timeout`, at an age of the episode. Errors: TimeoutError."""
        async with asyncio.timeout_at(self._when(at_s)) as timeout:
            self._limits[timeout] = at_s
            try:
                yield timeout
            finally:
                del self._limits[timeout]

    @property
    def overdue_s(self) -> float:
        """How long ago a limit was passed that has not taken effect: the code under it does not let itself be cancelled."""
        now = asyncio.get_running_loop().time()
        passed = [timeout.when() or now for timeout in self._limits if timeout.expired()]
        return now - min(passed) if passed else 0.0

    def _stand_or_go(self) -> None:
        stands = self._stands_since < math.inf
        if stands == (self._waiting > 0 and not self._going_on):
            return
        if stands:
            self.exclude(self._stands_since)
        self._stands_since = math.inf if stands else time.monotonic()
        self._shift_to(self._began)

    def _now(self) -> float:
        return max(min(time.monotonic(), self._stands_since), self._stands_until)

    def _when(self, at_s: float) -> float | None:
        """By the loop's clock; at once if the episode is that old already, and never while it waits."""
        if self._stands_since < math.inf:
            return None
        now = time.monotonic()
        if self._is_replaying:
            return asyncio.get_running_loop().time() + max(at_s, REPLAY_S)
        return asyncio.get_running_loop().time() + (max(self._began + at_s - now, 0) if at_s > self.elapsed_s else 0)

    def _shift_to(self, began: float) -> None:
        self._began = began
        for timeout, at_s in self._limits.items():
            if not timeout.expired():
                timeout.reschedule(self._when(at_s))
