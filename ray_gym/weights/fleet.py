"""Keeps the replicas of one model that take part in updates. It is plain asyncio: callers supply how replicas are
checked and killed.

Replicas come for their orders (`next`), and not the other way round: a call to a Serve replica waits for one of its
slots, and while the model is paused none becomes free. This also makes sure which replicas take part: a replica is
admitted before it serves.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ray_gym.weights.orders import Order, OrderAnswer, Task, Wait

LOOK_S = 0.5
"""Seconds between two checks whether the replicas that have not answered yet are alive."""
POLL_S = 30.0
"""Seconds after which a replica that waits for an order is told to ask again."""


@dataclass(slots=True)
class _Member:
    """Holds a member's orders that it has not fetched yet, and the answers that are awaited from it, by the order's
    number.
    """

    orders: asyncio.Queue[Order] = field(default_factory=asyncio.Queue)
    answers: dict[int, asyncio.Future[OrderAnswer]] = field(default_factory=dict)


@dataclass(slots=True)
class Answers:
    """Holds the answers of the members to one task: the names of those that did it, in `done`, and by name the errors
    of the others.

    A replica that died meanwhile is in neither.
    """

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class Fleet:
    """A fleet gives orders to the replicas of one model, and collects their answers.

    `is_alive`: returns True if the replica of this name is alive. `kill`: kills it.
    """

    def __init__(self, is_alive: Callable[[str], Awaitable[bool]], kill: Callable[[str], Awaitable[None]]) -> None:
        self._is_alive = is_alive
        self._kill = kill
        self._members: dict[str, _Member] = {}
        self._numbers = itertools.count(1)

    @property
    def names(self) -> list[str]:
        """Returns a new list of the members' names, in the order in which they were admitted."""
        return list(self._members)

    def admit(self, name: str) -> None:
        """Makes a replica a member. If it was one before, its earlier orders are cancelled."""
        self.drop(name)
        self._members[name] = _Member()

    def knows(self, name: str) -> bool:
        return name in self._members

    async def next(self, name: str, answer: OrderAnswer | None) -> Order | Wait:
        """Takes a member's answer to its last order (None: it has none to give), and returns the next order. Returns
        `Wait` if none comes within `POLL_S` seconds. Errors: KeyError if the replica is no member.
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
        """Orders all members to do a task, and returns their answers when each has answered, has died, or has used up
        the `timeout_s` seconds, which counts as an error.
        """
        return await self.ask_each(dict.fromkeys(self._members, task), timeout_s)

    async def ask_each(self, tasks: dict[str, Task], timeout_s: float) -> Answers:
        """Orders each member in `tasks` to do its own task, and returns the answers when each has answered, has died,
        or has used up the `timeout_s` seconds, which counts as an error. Replicas that are no members are left out.
        """
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
        """Fails the orders that a member has not answered, as it joins again and won't answer them. Errors: KeyError if
        the replica is no member.
        """
        for number, future in self._members[name].answers.items():
            if not future.done():
                future.set_result(OrderAnswer(number, "it lost sight of the holder of the weights"))

    async def evict(self, name: str) -> None:
        """Forgets a replica and kills it, since it is not known which weights it has. Serve starts another for it."""
        self.drop(name)
        await self._kill(name)

    def drop(self, name: str) -> None:
        """Forgets a member, and cancels its orders. Does nothing if the replica is no member."""
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
