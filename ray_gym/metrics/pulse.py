"""Runs the one task of a process that hands its metrics on, every second, and looks meanwhile how late its event loop
is.
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
"""Seconds between two looks at the loop."""
LOOKS = 10
"""Looks at the loop between two times that metrics are handed on."""

Export = Callable[[Sequence[Reading]], None]
"""Takes new readings. It must not block."""
logger = logging.getLogger(__name__)


class Pulse:
    """A pulse hands on the metrics of a process.

    `start` it on the event loop that it is to look at, and `stop` it there.
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
        """Stops the pulse, and hands on what is new until now."""
        if self._beating is not None:
            self._beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beating
            self._beating = None
            self._hand_on()

    async def _beat(self) -> None:
        """Looks at the loop at even intervals, also while it stands still: else a long standstill would count like a
        short one.
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
        """Hands the readings on.

        A run is worth more than its metrics: what is wrong with them is said once, and it goes on.
        """
        try:
            self._export(self._recorder.drain())
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                logger.warning("metrics can't be handed on: %s", describe(error))


@asynccontextmanager
async def beating(recorder: Recorder, role: str, export: Export) -> AsyncIterator[Recorder]:
    """Hands on what is recorded while the block lasts."""
    pulse = Pulse(recorder, role, export)
    pulse.start()
    try:
        yield recorder
    finally:
        await pulse.stop()
