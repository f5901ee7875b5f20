"""Carries out the calls that a program makes in its turn, those of its model and those of tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from ray_gym.openai_api.refused import Refused

Said = TypeVar("Said")


class TurnCalls:
    """Takes calls while a turn lasts. Nobody would hear the answers of those that are under way at its end."""

    def __init__(self) -> None:
        """Takes none yet."""
        self.cut = 0
        """Number of calls that were under way when the last turn ended."""
        self._is_open = False
        self._under_way: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Takes calls while the block runs. Those that are under way at its end are cancelled."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False
            self.cut = len(self._under_way)
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def run(self, call: Coroutine[Any, Any, Said]) -> Said:
        """Carries out a call, and returns its answer. Errors: those of `begin` and `answer_of`."""
        return await self.answer_of(self.begin(call))

    def begin(self, call: Coroutine[Any, Any, Said]) -> asyncio.Task[Said]:
        """Begins to carry out a call. Errors: Refused (400) if it is not the program's turn."""
        if not self._is_open:
            call.close()
            raise Refused(400, "not_your_turn", "it is not your turn")
        task = asyncio.create_task(call)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def answer_of(self, task: asyncio.Task[Said]) -> Said:
        """Returns the answer of a call. Errors: those of the call; Refused (400) if the turn ends before."""
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            raise Refused(400, "turn_is_over", "your turn is over") from None
