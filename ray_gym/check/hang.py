"""Ends a check whose environment never gives the event loop back, which could not be reported otherwise.

A thread looks whether the loop still runs, and says where the environment is if it does not. Code that holds the GIL,
such as a regular expression, stops that thread too. Then the timer of `faulthandler`, which needs no GIL, prints where
all threads are, and ends the process.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from ray_gym.check.finding import Finding
from ray_gym.environment import Environment
from ray_gym.run.worker.watchdog import authors_place, frames_outwards

HANGS_AFTER_S = 20.0
"""Seconds without a beat of the event loop after which the check is ended."""
GRACE_S = 5.0
"""Further seconds after which the timer of `faulthandler` ends the process, so that the thread can do it before."""
_MEND = "make what may take that long @tool(isolated=True), await episode.isolated(...) or a Library grader: these have a deadline"


class HangWatch:
    """Watches the event loop of the thread that makes it, from entering it until leaving it.

    If the loop does not run for `after_s` seconds or a little more, it calls `tell` with a finding, if it can, and ends
    the process with exit code 1.
    """

    def __init__(
        self, environment: Environment[Any, Any], tell: Callable[[Finding], None], after_s: float = HANGS_AFTER_S
    ) -> None:
        self._environment = environment
        self._tell = tell
        self._after_s = after_s
        self._thread = threading.get_ident()
        self._has_beaten = threading.Event()
        self._stopped = threading.Event()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> HangWatch:
        self._beat()
        threading.Thread(target=self._watch, name="hang-watch", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        faulthandler.cancel_dump_traceback_later()
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        self._has_beaten.set()
        faulthandler.dump_traceback_later(2 * self._after_s + GRACE_S, exit=True, file=sys.__stderr__ or 2)
        self._timer = asyncio.get_running_loop().call_later(self._after_s / 10, self._beat)

    def _watch(self) -> None:
        while not self._stopped.wait(self._after_s):
            if not self._has_beaten.is_set():
                self._end()
            self._has_beaten.clear()

    def _end(self) -> None:
        place = authors_place(list(frames_outwards(sys._current_frames().get(self._thread))), self._environment)
        where = place or type(self._environment).__name__
        try:
            self._tell(Finding(where, f"it has held up the event loop for more than {self._after_s:g} s", _MEND))
        finally:
            sys.stdout.flush()
            os._exit(1)
