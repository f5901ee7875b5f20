"""Measures how late an event loop is, and in which line of the environment's code it was then."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ray_gym import graders
from ray_gym.check.scenes import RememberingModel, Scene
from ray_gym.environment import Environment
from ray_gym.plugins import package_of
from ray_gym.run.worker.watchdog import authors_place, frames_outwards

BEAT_S = 0.005
"""Seconds between two runs of the timer that shows that the loop is free (a beat)."""
LOOK_S = 0.01
"""Seconds between two looks of the thread that watches the loop."""
LATE_S = 0.05
"""Seconds by which a beat is late enough to be noted."""
ASLEEP = 0.1
"""Share of the waiting time: a loop whose thread has used less CPU time than this counts as asleep."""
_PLAYERS = RememberingModel.complete.__code__


@dataclass(frozen=True, slots=True)
class Lag:
    """Says at which place of the environment's code the loop stood still in a scene, and for how many seconds."""

    scene: Scene
    place: str
    seconds: float


class LoopWatch:
    """Watches how late the event loop is, from entering it until leaving it, both on the loop's thread."""

    def __init__(self, environment: Environment[Any, Any]) -> None:
        self.late: dict[str, float] = {}
        """Seconds that the loop stood still, by the place in the environment's code where it was last seen then."""
        self._environment = environment
        self._thread = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._thread)
        self._last_beat = time.monotonic(), 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="loop-watch", daemon=True)

    def __enter__(self) -> LoopWatch:
        self._beat()
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()
        self._watcher.join()

    def _beat(self) -> None:
        self._last_beat = time.monotonic(), time.clock_gettime(self._clock)
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_S):
            late, frame = self._late(), sys._current_frames().get(self._thread)
            if late < LATE_S or frame is None:
                continue
            stack = list(frames_outwards(frame))
            if any(frame.f_code is _PLAYERS for frame in stack):  # a scripted player is no part of the environment
                continue
            if self._in_a_grader(stack):  # the checks make texts that are longer and odder than a judge's
                continue
            place = authors_place(stack, self._environment)
            if place is not None:
                self.late[place] = max(late, self.late.get(place, 0.0))

    def _in_a_grader(self, stack: Sequence[FrameType]) -> bool:
        """Returns whether the environment waits for one of the engine's graders. `stack`: frames, the innermost first."""
        package = package_of(type(self._environment).__module__)
        for frame in stack:
            module = str(frame.f_globals.get("__name__"))
            if package_of(module) == package:
                return False
            if module.startswith(f"{graders.__name__}."):
                return True
        return False

    def _late(self) -> float:
        """Returns the seconds for which the loop has been busy or asleep since its last beat was due.

        Time in which other programs had the CPU does not count.
        """
        began, worked_then = self._last_beat
        waited, worked = time.monotonic() - began - BEAT_S, time.clock_gettime(self._clock) - worked_then
        return waited if worked < ASLEEP * waited else min(worked, waited)
