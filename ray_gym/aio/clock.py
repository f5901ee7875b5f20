"""Measures the age of an episode: the seconds for which it was played, over all its attempts, without the waits that
are left out.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

REPLAY_S = 600.0
"""Least number of seconds that a limit allows for a replay, even if it allows less for live play."""

_running: ContextVar[ActiveClock] = ContextVar("running_clock")


def set_running_clock(clock: ActiveClock) -> Token[ActiveClock]:
    """Sets the clock that `running_clock` and `exclude` use in the current context (of `contextvars`). Returns the
    token with which `reset_running_clock` restores the clock before.
    """
    return _running.set(clock)


def reset_running_clock(token: Token[ActiveClock]) -> None:
    """Restores the clock that was set before `set_running_clock` returned this token."""
    _running.reset(token)


def running_clock() -> ActiveClock:
    """Returns the clock that `set_running_clock` has set for the episode that the current code works for. If none is
    set, returns a new clock, which nothing else uses.
    """
    return _running.get(None) or ActiveClock()


def exclude(since: float, next_s: float = 0) -> None:
    """Leaves the time from `since` (a value of `time.monotonic`) until now, and the next `next_s` seconds, out of the
    clock of the episode that the current code works for. Does nothing if no clock is set.

    It is for engines that retry calls by themselves: lost calls don't make the episode older.
    """
    clock = _running.get(None)
    if clock is not None:
        clock.exclude(since, next_s)


class ActiveClock:
    """An active clock measures for how many seconds an episode has been played, and moves the episode's limits
    accordingly.

    When a recorded call is replayed, the clock is set to the age that the episode had then. It is paused while the
    episode waits for an unreachable model, or for a free slot to call one.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._paused_until = -math.inf
        self._paused_since = math.inf
        self._waiting = 0
        self._working = 0
        self._replaying = 0
        self._resting = False
        self._common: ActiveClock | None = None
        self._limits: dict[asyncio.Timeout, float] = {}

    @property
    def elapsed_s(self) -> float:
        """Returns the age of the episode: the seconds for which it has been played."""
        return self._now() - self._began

    def set_age(self, elapsed_s: float) -> None:
        """Sets the clock to the age (in seconds) that the episode had when a replayed call was answered."""
        self._shift_to(self._now() - elapsed_s)

    def exclude(self, since: float, next_s: float = 0) -> None:
        """Leaves the time from `since` (a value of `time.monotonic`) until now, and the next `next_s` seconds, out of
        this clock and of the clock that it shares with other episodes (`share_clock`). Time that several calls lose at
        once is left out once.
        """
        self._leave_out(since, next_s)
        if self._common is not None:
            self._common.exclude(since, next_s)

    def _leave_out(self, since: float, next_s: float = 0) -> None:
        until = time.monotonic() + next_s
        lost = until - max(min(since, self._paused_since), self._paused_until)
        if lost > 0:
            self._paused_until = until
            self._shift_to(self._began + lost)

    def count_wait(self) -> _CountScope:
        """Returns a context manager that counts a wait, for instance for a free slot, while it is entered.

        The clock and its limits are paused while a wait is counted and no work is (`count_work`).
        """
        return _CountScope(self, waiting=1, working=0)

    def count_work(self) -> _CountScope:
        """Returns a context manager that counts work of the episode while it is entered. While work is counted, the
        clock is not paused.
        """
        return _CountScope(self, waiting=0, working=1)

    async def take(self, slots: asyncio.Semaphore) -> None:
        """Takes one of the slots of a semaphore. If none is free, the clock counts the wait for one (`count_wait`). The
        caller has to release the semaphore.
        """
        if slots.locked():
            with self.count_wait():
                await slots.acquire()
        else:
            await slots.acquire()

    def set_resting(self, resting: bool) -> None:
        """Sets whether the episode rests, which means that no task drives it. A rest counts as a wait: the clock is
        paused meanwhile.
        """
        if resting != self._resting:
            self._resting = resting
            self._count(waiting=1 if resting else -1)

    def set_replaying(self, replaying: bool) -> None:
        """Sets whether the episode's recorded calls are being replayed.

        While they are, a limit of `at_s` seconds does not depend on the episode's age: it passes when the clock has not
        been changed for that long, or for `REPLAY_S` seconds if that is longer.
        """
        if replaying != bool(self._replaying):
            self._count(replaying=1 if replaying else -1)

    def limit(self, at_s: float) -> _Limit:
        """Returns an async context manager like `asyncio.timeout`, which cancels its block when the episode reaches the
        age of `at_s` seconds.

        Errors: TimeoutError when the block is left after that.
        """
        return _Limit(asyncio.timeout_at(self._due_at(at_s)), at_s, self._limits)

    @property
    def is_late(self) -> bool:
        """Returns True if a limit whose block is still running has passed, on this clock or on the one shared with
        other episodes.
        """
        late = any(timeout.expired() for timeout in self._limits)
        return late or (self._common is not None and self._common.is_late)

    @property
    def overdue_s(self) -> float:
        """Looks at the limits that have passed while their blocks still run, since the code ignores the cancellation.
        Returns the seconds since the first of them passed, on this clock or on the one shared with other episodes; 0
        if there are none.
        """
        now = asyncio.get_running_loop().time()
        passed = [timeout.when() or now for timeout in self._limits if timeout.expired()]
        own = now - min(passed) if passed else 0.0
        return max(own, self._common.overdue_s) if self._common is not None else own

    def _count(self, waiting: int = 0, working: int = 0, replaying: int = 0) -> None:
        """Adds to the numbers of waits, of work and of replays that this clock and the shared one count, and pauses or
        resumes both accordingly. A change of the replays reschedules the limits, and sets the shared clock to 0.
        """
        self._waiting += waiting
        self._working += working
        self._replaying += replaying
        self._pause_or_resume()
        if replaying:
            self._shift_to(self._began)
        if self._common is not None:
            self._common._count(waiting, working, replaying)
            if replaying:  # how much of the record was scoring, and how much of that at the same time, nobody knows
                self._common.set_age(0)

    def _pause_or_resume(self) -> None:
        is_paused = self._paused_since < math.inf
        if is_paused == (self._waiting > 0 and not self._working):
            return
        if is_paused:
            self._leave_out(self._paused_since)
        self._paused_since = math.inf if is_paused else time.monotonic()
        self._shift_to(self._began)

    def _now(self) -> float:
        return max(min(time.monotonic(), self._paused_since), self._paused_until)

    def _due_at(self, at_s: float) -> float | None:
        """Returns the event loop's time at which a limit of `at_s` seconds passes: now if the episode is that old
        already, and None (never) while the clock is paused.

        During a replay it is `at_s` seconds from now, or `REPLAY_S` if that is longer.
        """
        if self._paused_since < math.inf:
            return None
        now = time.monotonic()
        if self._replaying:
            return asyncio.get_running_loop().time() + max(at_s, REPLAY_S)
        return asyncio.get_running_loop().time() + (max(self._began + at_s - now, 0) if at_s > self.elapsed_s else 0)

    def _shift_to(self, began: float) -> None:
        self._began = began
        for timeout, at_s in self._limits.items():
            if not timeout.expired():
                timeout.reschedule(self._due_at(at_s))


class _Limit:
    """A limit is an async context manager around an `asyncio.Timeout`. The clock reschedules it until it is left."""

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


class _CountScope:
    """Counts waits and work on a clock while it is entered.

    It is a class, as each model call enters one: a generator takes five times as long.
    """

    __slots__ = ("_clock", "_waiting", "_working")

    def __init__(self, clock: ActiveClock, waiting: int, working: int) -> None:
        self._clock, self._waiting, self._working = clock, waiting, working

    def __enter__(self) -> None:
        self._clock._count(self._waiting, self._working)

    def __exit__(self, *error: object) -> None:
        self._clock._count(-self._waiting, -self._working)


@contextmanager
def share_clock(clocks: Sequence[ActiveClock]) -> Iterator[ActiveClock]:
    """Yields a new clock for work that is done for several episodes at once.

    The new clock is paused while any of the episodes waits and none works. It leaves out the time that the episodes'
    clocks leave out, and is set to 0 whenever a replay of one of the episodes begins or ends.
    """
    common = ActiveClock()
    for clock in clocks:
        clock._common = common
        common._count(clock._waiting, clock._working, clock._replaying)
    try:
        yield common
    finally:
        for clock in clocks:
            clock._common = None
