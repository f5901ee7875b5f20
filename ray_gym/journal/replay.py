"""Gives the recorded answers of an episode again, in the order of the first time.

To get the same interleaving, an answer waits until three things hold: the answers before it were given, all recorded
calls that had been made by then are made again, and the episode rests (nothing of it moves). A call that differs from
the recorded one shows that the environment is not deterministic (`Diverged`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from ray_gym.journal.records import Called
from ray_gym.journal.stillness import Stillness


class Diverged(Exception):
    """Says that a replay differs from the record."""


class Replay:
    """Gives the recorded answers of one try of an episode."""

    def __init__(self, calls: Sequence[Called], stillness: Stillness, patience_s: float) -> None:
        """Makes the replay of recorded calls, which must be in the order of their answers.

        `patience_s`: seconds after which the replay counts as diverged if something waits and nothing happens.
        """
        self._calls = {(call.thread, call.number): call for call in calls}
        self._stillness = stillness
        self._patience_s = patience_s
        self._needed = _made_by_then(calls)
        self._made = 0
        self._moved = asyncio.Event()
        self.total = len(calls)
        self.given = 0
        self._held_from = self.total
        """Number of the first answer that is held back until `reach` or `release` moves this limit."""

    @property
    def is_over(self) -> bool:
        """Says whether all recorded answers were given."""
        return self.given == self.total

    def make(self, thread: str, number: int, request: bytes) -> Called | None:
        """Registers that a call is made again. Returns the record of its answer; None if the call was not answered
        then.

        request: digest of the request. Errors: Diverged if it asks something else than the recorded call, or comes at
        another place in the order.
        """
        call = self._calls.get((thread, number))
        if call is None:
            return None
        if call.request != request:
            raise Diverged(f"call {number} of thread {thread} asked something else than was recorded")
        if call.issued != self.given:
            raise Diverged(
                f"call {number} of thread {thread} came after {self.given} answers, not after {call.issued} as recorded"
            )
        self._made += 1
        self.look_again()
        return call

    async def give(self, call: Called) -> None:
        """Waits until this answer is the next to be given and the episode rests, and counts it as given. Errors:
        Diverged if nothing happens meanwhile for `patience_s` seconds.
        """

        def is_next() -> bool:
            is_due = self.given == call.seq and call.seq < self._held_from
            return is_due and self._made >= self._needed[call.seq]

        while not is_next():
            await self._next_move(self._moved, call.thread, call.number)
        await self._stillness.wait()
        self.given += 1
        self.look_again()

    async def reach(self, given: int, and_also: Callable[[], bool]) -> None:
        """Lets the replay give the first `given` answers, and holds back the others. Waits until these are given, the
        episode rests, and `and_also` returns True.

        Errors: Diverged if nothing happens meanwhile for `patience_s` seconds.
        """
        self._held_from = min(given, self.total)
        self.look_again()
        await self.wait_until(lambda: self.given >= self._held_from and and_also(), "commands", given)

    def release(self) -> None:
        """Stops holding back answers, so that waiting calls get them."""
        self._held_from = self.total
        self.look_again()

    async def wait_until_over(self, thread: str, number: int) -> None:
        """Waits until all recorded answers were given. It is for a call that was not answered in the record. `thread`
        and `number` name the call in errors. Errors: Diverged if nothing happens meanwhile for `patience_s` seconds.
        """
        while not self.is_over:
            await self._next_move(self._moved, thread, number)

    async def wait_until(self, condition: Callable[[], bool], thread: str, number: int) -> None:
        """Waits until a condition holds while the episode rests. `thread` and `number` name the waiting call in errors.
        Errors: Diverged if nothing happens meanwhile for `patience_s` seconds.
        """
        self._stillness.stir()
        while True:
            moved = self._moved
            await self._stillness.wait()
            if condition():
                return
            await self._next_move(moved, thread, number)

    async def _next_move(self, moved: asyncio.Event, thread: str, number: int) -> None:
        """Waits until a call is made or ends, or an answer is given. Errors: Diverged if that takes longer than the
        replay's patience.
        """
        try:
            async with asyncio.timeout(self._patience_s):
                await moved.wait()
        except TimeoutError:
            raise self._stuck(thread, number) from None

    def look_again(self) -> None:
        """Makes everything that waits for a condition check it again."""
        self._stillness.stir()
        self._moved.set()
        self._moved = asyncio.Event()

    def _stuck(self, thread: str, number: int) -> Diverged:
        missing = self.total - self.given
        return Diverged(
            f"call {number} of thread {thread} waited for {missing} recorded answers that were not asked for"
        )


def _made_by_then(calls: Sequence[Called]) -> list[int]:
    """Returns, for each answer in order, how many of the recorded calls had been made before it was given, its own
    included.
    """
    made_after = Counter(call.issued for call in calls)
    total, needed = 0, []
    for seq in range(len(calls)):
        total += made_after[seq]
        needed.append(total)
    return needed
