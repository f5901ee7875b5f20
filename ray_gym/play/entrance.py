"""Makes the commands of one session wait for their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TooManyWaiting(Exception):
    """Says that a command was refused because too many commands of the session are waiting."""


class Entrance:
    """Admits the commands of a session one after the other, in their order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting = 0
        self._turn = asyncio.Lock()

    @contextmanager
    def take_place(self) -> Iterator[None]:
        """Counts a caller as waiting while the block runs. Errors: TooManyWaiting if as many wait as there may be."""
        if self._waiting >= self._most:
            raise TooManyWaiting(f"{self._waiting} commands wait in this session, as many as there may be")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    @asynccontextmanager
    async def take_turn(self) -> AsyncIterator[None]:
        """Waits for the callers that came before, and keeps others out while the block runs."""
        async with self._turn:
            yield
