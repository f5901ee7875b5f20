"""Detects that an episode rests: nothing of it has moved for some turns of the event loop.

Several calls of an episode may be under way at once. Their answers are given one after the other, each only when the
code that got the one before can't continue without another answer. So the same answers in the same order lead to the
same play, whatever their timing.
"""

from __future__ import annotations

import asyncio

TURNS = 16
"""Turns of the event loop without a move that count as rest. Passing something on (by a queue, a lock, or the end of a
task) takes one to three."""


class Stillness:
    """Counts the turns of the event loop since something of an episode last moved. The episode rests after `TURNS`
    turns.
    """

    def __init__(self) -> None:
        self._left = 0
        self._still: asyncio.Future[None] | None = None

    @property
    def is_still(self) -> bool:
        """Says whether the episode rests: nothing has moved for `TURNS` turns of the event loop."""
        return self._still is None

    def stir(self) -> None:
        """Registers a move: a call was made, or an answer was given. So the episode does not rest for the next `TURNS`
        turns of the event loop. Errors: RuntimeError outside of an event loop.
        """
        self._left = TURNS
        if self._still is None:
            loop = asyncio.get_running_loop()
            self._still = loop.create_future()
            loop.call_soon(self._turn, loop)

    async def wait(self) -> None:
        """Waits until the episode rests; returns at once if it does."""
        while self._still is not None:
            await asyncio.shield(self._still)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left -= 1
        if self._left > 0:
            loop.call_soon(self._turn, loop)
            return
        still, self._still = self._still, None
        if still is not None:
            still.set_result(None)
