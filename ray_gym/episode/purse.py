"""Pays the model calls of one worker out of the allotment that the run's driver has given it (`limits.max_cost`).

Before a call, the most that it may cost is reserved; after it, what it did cost is spent, and the rest is free for
other calls. So the worker never spends more than it was allotted, however many calls are in flight. Calls that find
too little wait, in their order, until other calls leave something over or the driver allots more.

All amounts are picos (`ray_gym.models.price`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ray_gym.models.price import Price

SPARE = 4
"""Part of what calls in flight have reserved that the worker would like to have free beside it: one of so many. Then
most calls need not wait for the driver."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """Tells a worker how much it may spend."""

    granted: int
    """Picos that it was granted since it started."""
    is_scarce: bool = False
    """True if others wait for money that is nowhere free: the worker gives back what no call has reserved."""


@dataclass(frozen=True, slots=True)
class Funds:
    """Tells the driver what became of a worker's allotment."""

    spent: int = 0
    """Picos that its calls have cost since it started."""
    given_back: int = 0
    """Picos of its allotment that it has given back since it started."""
    needed: int = 0
    """Picos without which the first call that waits can't begin; 0 if no call waits."""
    wanted: int = 0
    """Picos that it would like to have beside what it has: for all calls that wait, and something to spare."""


class Purse:
    """Holds the allotment of one worker. It is used on one event loop."""

    def __init__(self, prices: Mapping[str, Price], ask: Callable[[], None]) -> None:
        """Makes an empty purse. `prices`: by the name of the model; calls of others cost nothing. `ask`: makes the
        worker report to its driver soon.
        """
        self.prices = prices
        self._ask = ask
        self._granted = self._spent = self._given_back = self._reserved = 0
        self._is_scarce = False
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        """Amounts for which calls wait, the first of them first."""

    @property
    def free(self) -> int:
        """Returns the picos that no call has reserved; below 0 if calls have cost more than was reserved for them."""
        return self._granted - self._given_back - self._spent - self._reserved

    async def reserve(self, amount: int) -> None:
        """Reserves an amount for a call, and waits until there is so much. The caller must `settle` it."""
        if not self._waiting and self.free >= amount:
            self._reserved += amount
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((amount, granted))
        self._ask()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.settle(amount, 0)
            else:
                self._serve()  # passes over those that were cancelled
            raise

    def settle(self, reserved: int, cost: int) -> None:
        """Ends the reservation of a call, which has cost so much."""
        self._reserved -= reserved
        self._spent += cost
        self._serve()

    def allot(self, allotment: Allotment) -> None:
        """Takes what the driver allots."""
        self._granted = max(self._granted, allotment.granted)
        self._is_scarce = allotment.is_scarce
        self._serve()

    def report(self, gives_back: bool = False) -> Funds:
        """Returns what became of the allotment. If money is scarce, or with `gives_back`, it gives back what is free."""
        if (self._is_scarce or gives_back) and self.free > 0:
            self._given_back += self.free
        asked = sum(amount for amount, _ in self._waiting)
        needed = max(0, self._waiting[0][0] - self.free) if self._waiting else 0
        wanted = max(0, asked + (self._reserved + asked) // SPARE - self.free)
        return Funds(self._spent, self._given_back, needed, wanted)

    def _serve(self) -> None:
        """Lets the calls begin that wait, in their order, as long as there is enough for the first."""
        while self._waiting and (self._waiting[0][1].done() or self.free >= self._waiting[0][0]):
            amount, granted = self._waiting.popleft()
            if not granted.done():
                self._reserved += amount
                granted.set_result(None)
