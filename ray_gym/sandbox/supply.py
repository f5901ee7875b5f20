"""Gives the episodes of a worker their sandboxes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from ray_gym.sandbox.bubblewrap import BubblewrapSandbox
from ray_gym.sandbox.kind import SandboxKind
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.pool import SandboxPool
from ray_gym.sandbox.sandbox import Sandbox


class Doorway(Protocol):
    """A doorway opens sandboxes whose programs reach a door of this process, each by an entrance of its own."""

    async def open_sandbox(self, kind: SandboxKind, limits: SandboxLimits) -> Sandbox:
        """Opens a sandbox. Errors: OSError; UserError if there can be none."""
        ...

    def shut_out(self, sandbox: Sandbox) -> None:
        """Shuts the entrance of a sandbox."""
        ...


class SandboxSupply:
    """A supply gives each episode of a worker a sandbox to work in, and others for a while, to grade in, say.

    Both kinds have their own room, since an episode holds the first while it waits for one of the second.
    """

    def __init__(
        self,
        kind: SandboxKind,
        limits: SandboxLimits,
        ahead: int = 0,
        most: int | None = None,
        doorway: Doorway | None = None,
    ) -> None:
        """Makes a supply that has opened none yet. `ahead`: sandboxes that are open before an episode needs them. `most`:
        sandboxes of episodes at a time, and as many to grade in; None: no limit. `doorway`: opens those of episodes;
        None: their programs reach no door.
        """

        async def open_place() -> Sandbox:
            return await (kind.open(limits) if doorway is None else doorway.open_sandbox(kind, limits))

        self._doorway = doorway
        self.limits = limits
        room = most or sys.maxsize
        self._places = SandboxPool(open_place, ahead, room)
        self._beside = SandboxPool(open_place, 0, sys.maxsize)
        self._fresh = SandboxPool(lambda: kind.open(limits), 0, room)

    @classmethod
    def of_bubblewrap(cls, limits: SandboxLimits | None = None) -> SandboxSupply:
        """Makes a supply for episodes that no config describes: those of checks and tests, whose players run anything.
        Blocks. Errors: UserError if this machine has no bubblewrap, which says how to get it.
        """
        kind = BubblewrapSandbox()
        if (problem := kind.problem()) is not None:
            raise problem.as_error(kind.name)
        return cls(kind, limits or SandboxLimits())

    def fill(self) -> None:
        """Begins to open sandboxes ahead of need."""
        self._places.fill()

    def place(self) -> AbstractAsyncContextManager[Sandbox]:
        """Gives an episode's sandbox, and closes it after the block. Waits while there are too many. Errors: UserError
        if there can be none.
        """
        return self._at_the_door(self._places)

    def beside(self) -> AbstractAsyncContextManager[Sandbox]:
        """Gives a further sandbox to an episode that has one, as `place` does, and never waits for room."""
        return self._at_the_door(self._beside)

    @asynccontextmanager
    async def _at_the_door(self, pool: SandboxPool) -> AsyncIterator[Sandbox]:
        async with pool.take() as sandbox:
            try:
                yield sandbox
            finally:
                if self._doorway is not None:
                    self._doorway.shut_out(sandbox)

    def fresh(self) -> AbstractAsyncContextManager[Sandbox]:
        """Gives a sandbox without a door, as `place` does. Who holds one must not wait for another."""
        return self._fresh.take()

    async def close(self) -> None:
        """Closes all sandboxes, also those that are in use."""
        await asyncio.gather(self._places.close(), self._beside.close(), self._fresh.close())
