"""Keeps the calls of a worker to an endpoint within its share of the endpoint's limits a minute.

A bucket never holds more than nothing: a call may begin when it owes nothing, and then owes what it takes, which
flows back at the bucket's rate. So in any t seconds the calls that begin take at most rate * t, and what one of them
takes. A new bucket owes a call, as if another had just begun: a worker that replaces a dead one can't exceed the rate
either. What a call took less than it was expected to is given back to the calls that wait then, which begin the sooner
for it; if none waits, it is lost as soon as the bucket owes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

MINUTE_S = 60.0


class Bucket:
    """A bucket says when the next call may begin. It has no tasks, and no time of its own: `now` is in seconds."""

    def __init__(self, per_s: float, now: float) -> None:
        """Makes a bucket from which `per_s` units a second may be taken."""
        self._per_s = per_s
        self._level: float | None = None
        """Units that are free: below 0 while some are owed, above 0 only if some were given back; None before the first
        call."""
        self._at = now

    def delay_s(self, units: float, now: float) -> float:
        """Returns the seconds after which a call that takes so many units may begin; 0 if it may begin now."""
        level = self._refill(units, now)
        return 0.0 if level >= 0 else -level / self._per_s

    def take(self, units: float, now: float) -> None:
        """Takes units for a call that begins, whether or not it may: then later ones wait for longer."""
        self._level = self._refill(units, now) - units

    def give_back(self, units: float, now: float) -> None:
        """Gives units back that a call was expected to take and did not take. A bucket that is newer takes none."""
        if self._level is not None:
            self._level = self._refill(units, now) + units

    def forget_spare(self) -> None:
        """Lets go of units above 0, so that nobody has them later beside what flows back then."""
        if self._level is not None:
            self._level = min(0.0, self._level)

    def _refill(self, units: float, now: float) -> float:
        if self._level is None:
            self._level = -units
        if self._level < 0:
            self._level = min(0.0, self._level + (now - self._at) * self._per_s)
            if self._level > -1e-9 * max(1.0, units):  # rounding, for which nobody should wait again
                self._level = 0.0
        self._at = max(now, self._at)
        return self._level


class RateLimit:
    """Holds calls back until a worker's share of an endpoint's requests and tokens a minute has room for them.

    Calls begin in the order in which they asked. Tries of a call that fails are counted, and not held back: they have
    pauses of their own.
    """

    def __init__(
        self,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
    ) -> None:
        """Makes a limit for a worker that has the endpoint for itself; `set_share` gives it a part. None means no
        limit. `clock` gives seconds; `sleep` waits for some.
        """
        self._per_minute = (requests_per_minute, tokens_per_minute)
        self._clock, self._sleep = clock, sleep
        self._order = asyncio.Lock()
        self._waiting = 0
        self._pause: asyncio.Task[None] | None = None
        """Pause of the call that is the next to begin; None if none waits."""
        self.set_share(1.0)

    @classmethod
    def of(cls, requests_per_minute: float | None, tokens_per_minute: float | None) -> RateLimit | None:
        """Makes a limit; None if neither is set."""
        if requests_per_minute is None and tokens_per_minute is None:
            return None
        return cls(requests_per_minute, tokens_per_minute)

    def set_share(self, share: float) -> None:
        """Sets the share of the limits (0 to 1) that this worker has. It begins anew, with empty buckets.

        Of its requests a minute one is kept back if there are two at least: so many may begin in any minute, also in
        one that begins with a call.
        """
        requests, tokens = self._per_minute
        now = self._clock()
        own = None if requests is None else requests * share
        self._requests = None if own is None else Bucket(max(own - 1, own / 2) / MINUTE_S, now)
        self._tokens = None if tokens is None else Bucket(tokens * share / MINUTE_S, now)
        self._wake()

    async def wait(self, tokens: int) -> None:
        """Waits until a call that may take so many tokens may begin, and counts it."""
        self._waiting += 1
        try:
            async with self._order:
                while (delay_s := self._delay_s(tokens)) > 0:
                    await self._sleep_or_wake(delay_s)
                self._take(tokens)
        finally:
            self._waiting -= 1
            self._forget_spare()

    async def _sleep_or_wake(self, delay_s: float) -> None:
        """Sleeps for some seconds, or until `_wake` is called."""
        self._pause = asyncio.create_task(self._sleep(delay_s))
        try:
            await asyncio.wait([self._pause])
        finally:
            self._wake()
            self._pause = None

    def _wake(self) -> None:
        """Has the next call look again whether it may begin."""
        if self._pause is not None:
            self._pause.cancel()

    def count_again(self) -> None:
        """Counts one more try of a call."""
        if self._requests is not None:
            self._requests.take(1, self._clock())

    def give_back(self, tokens: int) -> None:
        """Gives tokens back that a call was expected to take and did not take."""
        if self._tokens is not None:
            self._tokens.give_back(tokens, self._clock())
            self._forget_spare()
            self._wake()

    def _forget_spare(self) -> None:
        if self._tokens is not None and not self._waiting:
            self._tokens.forget_spare()

    def _delay_s(self, tokens: int) -> float:
        now = self._clock()
        of_requests = self._requests.delay_s(1, now) if self._requests is not None else 0.0
        of_tokens = self._tokens.delay_s(tokens, now) if self._tokens is not None else 0.0
        return max(of_requests, of_tokens)

    def _take(self, tokens: int) -> None:
        now = self._clock()
        if self._requests is not None:
            self._requests.take(1, now)
        if self._tokens is not None:
            self._tokens.take(tokens, now)
