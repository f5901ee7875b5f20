"""How much is done in one turn of the event loop: with a thousand episodes in flight, answers that come together would hold it up."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, TypeVar

Result = TypeVar("Result")

AT_ONCE = 20
"""Calls that go on in one turn: each takes the loop 0.1 to 0.2 ms until its episode waits again."""


class Pace:
    """Of the calls of a worker, or the answers of an endpoint. Those who wait go on in their order."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._waiting: deque[tuple[asyncio.Future[Any], Any]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        """While the next turn is looked for: asking for the loop that runs is a system call."""

    def goes_on(self) -> bool:
        """Whether there is room for one more in this turn, which it takes; else it has to `wait`."""
        if not self._left or self._waiting:
            return False
        self._left -= 1
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._next_turn, self._loop)
        return True

    async def wait(self) -> None:
        """For a turn with room."""
        assert self._loop is not None
        future = self._loop.create_future()
        self._waiting.append((future, None))
        await future

    def settle(self, future: asyncio.Future[Result], result: Result) -> None:
        """In this turn, or the next with room: whoever awaits it is woken once, and then goes on."""
        if self.goes_on():
            future.set_result(result)
        else:
            self._waiting.append((future, result))

    def _next_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        goes_on = self._left < self._at_once or bool(self._waiting)
        self._left = self._at_once
        while self._left and self._waiting:
            future, result = self._waiting.popleft()
            if not future.done():  # it may have been cancelled
                future.set_result(result)
                self._left -= 1
        self._loop = loop if goes_on else None
        if goes_on:
            loop.call_soon(self._next_turn, loop)
