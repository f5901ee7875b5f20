"""Limits how much is done in one turn of the event loop: with a thousand episodes in flight, answers that come together
would hold it up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, TypeVar

Result = TypeVar("Result")

AT_ONCE = 20
"""Number of calls that are resumed in one turn of the event loop: each takes the loop 0.1 to 0.2 ms until its episode
waits again.
"""


class Pace:
    """A pace limits how many calls of a worker, or answers of an endpoint, are resumed in one turn of the event loop.

    Calls that wait are resumed in their order.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._waiting: deque[tuple[asyncio.Future[Any], Any]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        """Running event loop while its next turn is scheduled, else None: asking for the loop is a system call."""

    def take_room(self) -> bool:
        """Takes one of the places of this turn of the event loop, and returns True. Returns False if all are taken, or
        others wait for one: then the caller has to `wait`.
        """
        if not self._left or self._waiting:
            return False
        self._left -= 1
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._next_turn, self._loop)
        return True

    async def wait(self) -> None:
        """Waits until a turn of the event loop has a place for the caller, and takes it. To be called only after
        `take_room` has returned False.
        """
        assert self._loop is not None
        future = self._loop.create_future()
        self._waiting.append((future, None))
        await future

    def settle(self, future: asyncio.Future[Result], result: Result) -> None:
        """Sets the result of a future that is not done: in this turn of the event loop if it has a place left, else in
        the next turn that has. The coroutine that awaits the future is woken only then.
        """
        if self.take_room():
            future.set_result(result)
        else:
            self._waiting.append((future, result))

    def _next_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        is_needed = self._left < self._at_once or bool(self._waiting)
        self._left = self._at_once
        while self._left and self._waiting:
            future, result = self._waiting.popleft()
            if not future.done():  # it may have been cancelled
                future.set_result(result)
                self._left -= 1
        self._loop = loop if is_needed else None
        if is_needed:
            loop.call_soon(self._next_turn, loop)
