"""Keeps the replicas of one model that take part in updates. It is plain asyncio; others say which replicas are alive.

Replicas come for their orders (`next`), and not the other way round: a call to a Serve replica waits for one of its
slots, and while the model is paused none becomes free. This also makes sure who takes part: a replica is admitted
before it serves.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ray_gym.weights.orders import Order, OrderAnswer, Task, Wait

LOOK_S = 0.5
"""Seconds between two questions whether the replicas that have not answered yet are alive."""
POLL_S = 30.0
"""Seconds that a replica is left waiting that has nothing to do."""


@dataclass(slots=True)
class _Member:
    """A member has orders to come for, and answers that are awaited, by the order's number."""

    orders: asyncio.Queue[Order] = field(default_factory=asyncio.Queue)
    answers: dict[int, asyncio.Future[OrderAnswer]] = field(default_factory=dict)


@dataclass(slots=True)
class Answers:
    """Answers to one order that all were given: the replicas that did it, and what was wrong with those that did not.

    A replica that died meanwhile is in neither.
    """

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class Fleet:
    """A fleet gives orders to the replicas of one model, and collects their answers."""

    def __init__(self, is_alive: Callable[[str], Awaitable[bool]], kill: Callable[[str], Awaitable[None]]) -> None:
        self._is_alive = is_alive
        self._kill = kill
        self._members: dict[str, _Member] = {}
        self._numbers = itertools.count(1)

    @property
    def names(self) -> list[str]:
        """Returns the members, in the order in which they were admitted."""
        return list(self._members)

    def admit(self, name: str) -> None:
        """Admits a replica. For one that had lost sight of the holder, what it was told before is void."""
        self.drop(name)
        self._members[name] = _Member()

    def knows(self, name: str) -> bool:
        return name in self._members

    async def next(self, name: str, answer: OrderAnswer | None) -> Order | Wait:
        """Takes a member's answer to its last order, and returns the next order; `Wait` if none comes within
        `POLL_S`.
        """
        member = self._members[name]
        waiting = member.answers.pop(answer.number, None) if answer is not None else None
        if answer is not None and waiting is not None and not waiting.done():
            waiting.set_result(answer)
        try:
            return await asyncio.wait_for(member.orders.get(), POLL_S)
        except TimeoutError:
            return Wait()

    async def ask(self, task: Task, timeout_s: float) -> Answers:
        """Orders everyone to do a task; returns when all have answered, died, or used up their time."""
        return await self.ask_each(dict.fromkeys(self._members, task), timeout_s)

    async def ask_each(self, tasks: dict[str, Task], timeout_s: float) -> Answers:
        """Gives each member a task of its own, like `ask`."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        waiting = {name: self._give(name, task) for name, task in tasks.items() if name in self._members}
        answers = Answers()
        while waiting:
            left = deadline - asyncio.get_running_loop().time()
            await asyncio.wait(waiting.values(), timeout=min(LOOK_S, max(left, 0)))
            for name in [name for name, future in waiting.items() if future.done()]:
                future = waiting.pop(name)
                if future.cancelled():  # it was dropped
                    continue
                if (error := future.result().error) is None:
                    answers.done.append(name)
                else:
                    answers.failed[name] = error
            await self._drop_dead(waiting)
            if left <= 0:
                answers.failed |= dict.fromkeys(waiting, f"no answer within {timeout_s:g} s")
                break
        return answers

    def fail_open_orders(self, name: str) -> None:
        """Fails the open orders of a member that joins again, as it won't answer them."""
        for number, future in self._members[name].answers.items():
            if not future.done():
                future.set_result(OrderAnswer(number, "it lost sight of the holder of the weights"))

    async def evict(self, name: str) -> None:
        """Kills a member that can't be trusted with any weights; Serve starts another in its place."""
        self.drop(name)
        await self._kill(name)

    def drop(self, name: str) -> None:
        """Forgets a member; what it was told is cancelled."""
        member = self._members.pop(name, None)
        for future in member.answers.values() if member else ():
            future.cancel()

    async def drop_dead(self) -> None:
        """Forgets the members that are not alive."""
        await self._drop_dead(dict.fromkeys(self._members))

    async def _drop_dead(self, waiting: dict[str, asyncio.Future[OrderAnswer]] | dict[str, None]) -> None:
        for name in list(waiting):
            if not await self._is_alive(name):
                self.drop(name)
                waiting.pop(name)

    def _give(self, name: str, task: Task) -> asyncio.Future[OrderAnswer]:
        member, number = self._members[name], next(self._numbers)
        member.orders.put_nowait(Order(number, task))
        future = member.answers[number] = asyncio.get_running_loop().create_future()
        return future
