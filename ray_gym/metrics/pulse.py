"""Exports the metrics of a process every second, in one task, which also measures ten times a second how late the event
loop is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from ray_gym.errors import describe
from ray_gym.metrics.recorder import Reading, Recorder
from ray_gym.metrics.table import LOOP_LAG

LOOK_S = 0.1
"""Seconds between two measurements of how late the event loop is."""
LOOKS = 10
"""Number of measurements of the event loop between two exports of metrics."""

Export = Callable[[Sequence[Reading]], None]
"""Function that takes new readings. It must not block."""
logger = logging.getLogger(__name__)


class Pulse:
    """A pulse exports the metrics of a process every second, and measures how late its event loop is.

    It has to be started and stopped on the event loop that it measures. `role`: label of these measurements.
    """

    def __init__(self, recorder: Recorder, role: str, export: Export) -> None:
        self._recorder = recorder
        self._lag = recorder.values(LOOP_LAG, role)
        self._export = export
        self._beating: asyncio.Task[None] | None = None
        self._has_failed = False

    def start(self) -> None:
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat(), name="metrics")

    async def stop(self) -> None:
        """Stops the pulse, and exports what was recorded since the last export. Does nothing if it was not started."""
        if self._beating is not None:
            self._beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beating
            self._beating = None
            self._hand_on()

    async def _beat(self) -> None:
        """Measures the event loop at even intervals. After a standstill, the measurements that were due meanwhile
        follow at once: otherwise a long standstill would count like a short one.
        """
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            for _ in range(LOOKS):
                due += LOOK_S
                await asyncio.sleep(due - loop.time())
                self._lag.observe(max(0.0, loop.time() - due))
            self._hand_on()

    def _hand_on(self) -> None:
        """Exports the readings.

        A run is worth more than its metrics: the first error of the export is logged, later ones are ignored, and the
        run goes on.
        """
        try:
            self._export(self._recorder.drain())
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                logger.warning("metrics can't be handed on: %s", describe(error))


@asynccontextmanager
async def beating(recorder: Recorder, role: str, export: Export) -> AsyncIterator[Recorder]:
    """Yields the recorder. Exports what is recorded, every second while the block lasts, and once at its end."""
    pulse = Pulse(recorder, role, export)
    pulse.start()
    try:
        yield recorder
    finally:
        await pulse.stop()
