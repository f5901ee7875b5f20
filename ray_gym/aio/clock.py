"""The time of an episode: seconds that it was really played, over all its attempts."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

REPLAY_S = 600.0
"""At least this long may a replay take, whatever the limits of live play are."""

_running: ContextVar[ActiveClock] = ContextVar("the clock of the episode that something is called for")


def run_by(clock: ActiveClock) -> Token[ActiveClock]:
    """What is called now lies outside of an episode, and is on its clock, until `no_longer_run_by`."""
    return _running.set(clock)


def no_longer_run_by(token: Token[ActiveClock]) -> None:
    _running.reset(token)


def running_clock() -> ActiveClock:
    """That of the episode which something is called for; one that nobody looks at, if it is for none."""
    return _running.get(None) or ActiveClock()


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
        self._replaying = 0
        self._resting = False
        self._common: ActiveClock | None = None
        self._limits: dict[asyncio.Timeout, float] = {}

    @property
    def elapsed_s(self) -> float:
        return self._now() - self._began

    def go_on_from(self, elapsed_s: float) -> None:
        """A replayed call was answered when the episode was this old."""
        self._shift_to(self._now() - elapsed_s)

    def exclude(self, since: float, next_s: float = 0) -> None:
        """The time since then (of `time.monotonic`), and the next seconds, do not count; what several calls lose at once counts once."""
        self._leave_out(since, next_s)
        if self._common is not None:
            self._common.exclude(since, next_s)

    def _leave_out(self, since: float, next_s: float = 0) -> None:
        until = time.monotonic() + next_s
        lost = until - max(min(since, self._stands_since), self._stands_until)
        if lost > 0:
            self._stands_until = until
            self._shift_to(self._began + lost)

    def waiting(self) -> _Counted:
        """For a turn to ask a model, however long: time in which nothing else goes on (`going_on`) does not count, and limits wait too."""
        return _Counted(self, waiting=1, going_on=0)

    def going_on(self) -> _Counted:
        """Something that others of the episode may be waiting for: this does count."""
        return _Counted(self, waiting=0, going_on=1)

    async def take(self, slots: asyncio.Semaphore) -> None:
        """One of the slots, as soon as there is one: the wait does not count (see `waiting`)."""
        if slots.locked():
            with self.waiting():
                await slots.acquire()
        else:
            await slots.acquire()

    def resting(self, resting: bool) -> None:
        """Nobody drives the episode now: this time does not count."""
        if resting != self._resting:
            self._resting = resting
            self._count(waiting=1 if resting else -1)

    def replaying(self, replaying: bool) -> None:
        """While recorded calls are answered again, limits do not count what was played before; each gets time enough for the replay."""
        if replaying != bool(self._replaying):
            self._count(replaying=1 if replaying else -1)

    def limit(self, at_s: float) -> _Limit:
        """Like `asyncio.timeout`, at an age of the episode. Errors: TimeoutError."""
        return _Limit(asyncio.timeout_at(self._when(at_s)), at_s, self._limits)

    @property
    def is_late(self) -> bool:
        """Whether one of the limits that hold now was passed."""
        late = any(timeout.expired() for timeout in self._limits)
        return late or (self._common is not None and self._common.is_late)

    @property
    def overdue_s(self) -> float:
        """How long ago a limit was passed that has not taken effect: the code under it does not let itself be cancelled."""
        now = asyncio.get_running_loop().time()
        passed = [timeout.when() or now for timeout in self._limits if timeout.expired()]
        own = now - min(passed) if passed else 0.0
        return max(own, self._common.overdue_s) if self._common is not None else own

    def _count(self, waiting: int = 0, going_on: int = 0, replaying: int = 0) -> None:
        """What there is of the episode now, or of one of those that share this clock."""
        self._waiting += waiting
        self._going_on += going_on
        self._replaying += replaying
        self._stand_or_go()
        if replaying:
            self._shift_to(self._began)
        if self._common is not None:
            self._common._count(waiting, going_on, replaying)
            if replaying:  # how much of the record was scoring, and how much of that at the same time, nobody knows
                self._common.go_on_from(0)

    def _stand_or_go(self) -> None:
        stands = self._stands_since < math.inf
        if stands == (self._waiting > 0 and not self._going_on):
            return
        if stands:
            self._leave_out(self._stands_since)
        self._stands_since = math.inf if stands else time.monotonic()
        self._shift_to(self._began)

    def _now(self) -> float:
        return max(min(time.monotonic(), self._stands_since), self._stands_until)

    def _when(self, at_s: float) -> float | None:
        """By the loop's clock; at once if the episode is that old already, and never while it waits."""
        if self._stands_since < math.inf:
            return None
        now = time.monotonic()
        if self._replaying:
            return asyncio.get_running_loop().time() + max(at_s, REPLAY_S)
        return asyncio.get_running_loop().time() + (max(self._began + at_s - now, 0) if at_s > self.elapsed_s else 0)

    def _shift_to(self, began: float) -> None:
        self._began = began
        for timeout, at_s in self._limits.items():
            if not timeout.expired():
                timeout.reschedule(self._when(at_s))


class _Limit:
    """Among those of a clock, which moves them, as long as it holds."""

    __slots__ = ("_at_s", "_limits", "_timeout")

    def __init__(self, timeout: asyncio.Timeout, at_s: float, limits: dict[asyncio.Timeout, float]) -> None:
        self._timeout, self._at_s, self._limits = timeout, at_s, limits

    async def __aenter__(self) -> asyncio.Timeout:
        await self._timeout.__aenter__()
        self._limits[self._timeout] = self._at_s
        return self._timeout

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        del self._limits[self._timeout]
        await self._timeout.__aexit__(kind, error, traceback)


class _Counted:
    """What there is of an episode while this lasts. A class, as each model call enters one: a generator takes five times as long."""

    __slots__ = ("_clock", "_going_on", "_waiting")

    def __init__(self, clock: ActiveClock, waiting: int, going_on: int) -> None:
        self._clock, self._waiting, self._going_on = clock, waiting, going_on

    def __enter__(self) -> None:
        self._clock._count(self._waiting, self._going_on)

    def __exit__(self, *error: object) -> None:
        self._clock._count(-self._waiting, -self._going_on)


@contextmanager
def in_common(clocks: Sequence[ActiveClock]) -> Iterator[ActiveClock]:
    """A clock, from now on, for what is done for several episodes at once.

    It stands while any of them waits and none goes on, and leaves out what they leave out, and all until their replays are over.
    """
    common = ActiveClock()
    for clock in clocks:
        clock._common = common
        common._count(clock._waiting, clock._going_on, clock._replaying)
    try:
        yield common
    finally:
        for clock in clocks:
            clock._common = None
