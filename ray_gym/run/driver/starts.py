"""Says which workers of a run have not started, and why, and when a run is to end as its first one gets no CPUs."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable

from ray_gym.hosting.room import SAY_S

logger = logging.getLogger(__name__)

SLOW_START_S = 20.0
"""Seconds after which it is said that a worker has not started."""
_LOOK_S = 1.0


class Starts:
    """Holds the workers that are starting."""

    def __init__(
        self,
        busy: Callable[[], str],
        wait_s: float = math.inf,
        tell: Callable[[str], None] = lambda told: None,
        hook: str = "",
    ) -> None:
        """Begins without workers. busy: returns why no node has room for a worker, empty if one has; it may block. wait_s:
        seconds that a first worker waits for CPUs that others hold, and never less than `SLOW_START_S`. tell: is called
        with each warning, and with an empty text when no worker is starting any more. hook: name of the environment's own part
        of a start, if it has one.
        """
        self._at_work = f"Ray is still starting its process{hook and f', or {hook} is at work'}"
        self._busy = busy
        self._tell = tell
        self._wait_s = max(SLOW_START_S, wait_s)
        self._since: dict[str, float] = {}
        """Times on the monotonic clock from which workers are starting."""
        self._any_up = False

    def begin(self, worker: str) -> None:
        """Records that a worker is starting."""
        self._since[worker] = time.monotonic()

    def seconds(self, worker: str) -> float:
        """Returns the seconds for which a worker has been starting; 0 if it is not."""
        return time.monotonic() - self._since[worker] if worker in self._since else 0.0

    def is_up(self, worker: str) -> None:
        """Records that a worker has started."""
        self._any_up = True
        self.end(worker)

    def end(self, worker: str) -> None:
        """Records that a worker is gone, if it was still starting."""
        self._since.pop(worker, None)
        if not self._since:
            self._tell("")

    async def watch(self) -> str:
        """Logs a warning while workers take long to start. Returns why the run is to end, if no worker is up and there
        were no free CPUs for one in time; goes on until it is cancelled otherwise.
        """
        said_at = -math.inf
        while True:
            await asyncio.sleep(_LOOK_S)
            waited = time.monotonic() - min(self._since.values(), default=math.inf)
            says = waited >= SLOW_START_S and time.monotonic() - said_at >= SAY_S
            ends = waited >= self._wait_s and not self._any_up
            busy = await asyncio.to_thread(self._busy) if says or ends else ""
            if says or busy:
                said_at = time.monotonic()
                told = f"{self._who()} started within {waited:.0f} s: {busy or self._at_work}"
                logger.warning(told)
                if self._since:  # they may have started meanwhile
                    self._tell(told)
                if busy and ends:
                    return told

    def _who(self) -> str:
        count = len(self._since)
        return f"{count} more worker{'s have' if count > 1 else ' has'} not" if self._any_up else "no worker has"
