"""Recorded answers, given again in the order in which they were given first.

An episode may have several calls under way at once. For the same interleaving, an answer waits until those before it were given and
all recorded calls that had been made by then are made again. A call that differs from the recorded one means that the
environment is not deterministic: `Diverged`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence

from ray_gym.journal.records import Called


class Diverged(Exception):
    """A replay went another way than what was recorded."""


class Replay:
    def __init__(self, calls: Sequence[Called], patience_s: float) -> None:
        """`calls` in the order of their answers. `patience_s`: how long an answer waits for a call that should come before it."""
        self._calls = {(call.thread, call.number): call for call in calls}
        self._patience_s = patience_s
        self._needed = _made_by_then(calls)
        self._made = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._caught_up = asyncio.Event()
        self.total = len(calls)
        self.given = 0
        if not calls:
            self._caught_up.set()

    async def answer(self, thread: str, number: int, request: bytes) -> Called | None:
        """The recorded answer, in its turn; None if this call was not answered then.

        Errors: Diverged.
        """
        call = self._calls.get((thread, number))
        if call is None:
            return None
        what = f"call {number} of thread {thread}"
        if call.request != request:
            raise Diverged(f"{what} asked something else than was recorded")
        if call.issued != self.given:
            raise Diverged(f"{what} came after {self.given} answers, not after {call.issued} as recorded")
        self._made += 1
        if self._is_next(call.seq):
            self._give()
        else:
            self._waiting[call.seq] = turn = asyncio.get_running_loop().create_future()
            self._wake()
            await self._within_patience(turn, what)
        return call

    async def caught_up(self, what: str) -> None:
        """Wait until all that was recorded is given: what is called now was answered later. Errors: Diverged."""
        if self.given < self.total:
            await self._within_patience(self._caught_up.wait(), what)

    def _is_next(self, seq: int) -> bool:
        return seq == self.given and self._made >= self._needed[seq]

    def _give(self) -> None:
        self.given += 1
        if self.given == self.total:
            self._caught_up.set()
        elif self._waiting:
            # Not at once: whoever got this answer goes on first, as far as it comes.
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        turn = self._waiting.get(self.given)
        if turn is not None and self._is_next(self.given):
            del self._waiting[self.given]
            if not turn.done():
                turn.set_result(None)
            self._give()

    async def _within_patience(self, waited: Awaitable[object], what: str) -> None:
        try:
            async with asyncio.timeout(self._patience_s):
                await waited
        except TimeoutError:
            missing = self.total - self.given
            raise Diverged(f"{what} waited for {missing} recorded answers that nobody asked for again") from None


def _made_by_then(calls: Sequence[Called]) -> list[int]:
    """For each answer, how many of the recorded calls had been made before it was given."""
    made_after = Counter(call.issued for call in calls)
    total, needed = 0, []
    for seq in range(len(calls)):
        total += made_after[seq]
        needed.append(total)
    return needed
