"""Has the commands of one session wait until it is their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TooManyWaiting(Exception):
    """The session has as many commands waiting as it may: this one was not taken."""


class Entrance:
    """Admits commands one after the other, in their order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting = 0
        self._turn = asyncio.Lock()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Takes a place for a caller that waits, for its turn or for the result of another's command. Errors:
        TooManyWaiting.
        """
        if self._waiting >= self._most:
            raise TooManyWaiting(f"{self._waiting} commands wait in this session, as many as there may be")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self._turn:
            yield
