"""Opens sandboxes ahead of need."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ray_gym.sandbox.sandbox import Sandbox


class SandboxPool:
    """A pool keeps some sandboxes open that nobody has used yet, and never more than a number in all. Each is used once.

    Those that are open ahead of need count towards that number, and give way to nobody: a caller gets them first.
    """

    def __init__(self, open: Callable[[], Awaitable[Sandbox]], ahead: int, most: int) -> None:
        """`open` opens a sandbox. `ahead`: sandboxes that are kept ready. `most`: sandboxes at a time, at least 1."""
        if not 0 <= ahead <= most or most < 1:
            raise ValueError(f"a pool keeps 0 to `most` sandboxes ready, and has at least 1; not {ahead} of {most}")
        self._open, self._ahead = open, ahead
        self._room = asyncio.Semaphore(most)
        self._ready: deque[Sandbox] = deque()
        self._opening: asyncio.Task[None] | None = None
        self._used: set[Sandbox] = set()
        self._is_closed = False

    @property
    def ready(self) -> int:
        """Returns the number of sandboxes that wait for a caller."""
        return len(self._ready)

    def fill(self) -> None:
        """Begins to open sandboxes ahead of need, as many as there is room for."""
        if self._opening is None and not self._is_closed and self._ahead:
            self._opening = asyncio.create_task(self._fill())
            self._opening.add_done_callback(self._filled)

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Sandbox]:
        """Gives a sandbox that nobody has used, and closes it after the block. Waits while there are too many.

        Errors: those of opening one; RuntimeError if the pool is closed.
        """
        sandbox = await self._take()
        self._used.add(sandbox)
        self.fill()
        try:
            yield sandbox
        finally:
            await asyncio.shield(self._give_back(sandbox))

    async def close(self) -> None:
        """Closes all its sandboxes, also those that are in use."""
        self._is_closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        await asyncio.gather(*(sandbox.close() for sandbox in (*self._ready, *self._used)))
        self._ready.clear()

    async def _take(self) -> Sandbox:
        """Returns a sandbox that is ready, or opens one; it has its share of the room."""
        while True:
            if self._is_closed:
                raise RuntimeError("the pool of sandboxes is closed")
            if self._ready:
                return self._ready.popleft()
            if self._opening is None or not self._room.locked():
                break
            await asyncio.wait([self._opening])
        await self._room.acquire()
        if self._ready:
            self._room.release()
            return self._ready.popleft()
        return await self._open_one()

    async def _open_one(self) -> Sandbox:
        """Opens a sandbox, for which there is room; if it can't be opened, the room is free again."""
        try:
            return await self._open()
        except BaseException:
            self._room.release()
            raise

    async def _fill(self) -> None:
        while len(self._ready) < self._ahead and not self._room.locked():
            await self._room.acquire()
            self._ready.append(await self._open_one())

    def _filled(self, task: asyncio.Task[None]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # the next caller opens one itself, and gets the error

    async def _give_back(self, sandbox: Sandbox) -> None:
        try:
            await sandbox.close()
        finally:
            self._used.discard(sandbox)
            self._room.release()
            self.fill()
