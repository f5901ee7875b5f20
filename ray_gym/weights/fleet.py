"""The replicas of one model that take part in updates. Plain asyncio; who is alive is asked of someone else.

Replicas come for their orders (`next`), and not the other way round: a call to a Serve replica waits for one of its slots, and while the
model is paused none becomes free. So who takes part is known for sure, too: a replica is admitted before it serves.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ray_gym.weights.orders import Answer, Order, Task, Wait

LOOK_S = 0.5
"""How often it is asked whether those that have not answered yet are alive."""
POLL_S = 30.0
"""How long a replica that has nothing to do is left waiting."""


@dataclass(slots=True)
class _Member:
    orders: asyncio.Queue[Order] = field(default_factory=asyncio.Queue)
    answers: dict[int, asyncio.Future[Answer]] = field(default_factory=dict)


@dataclass(slots=True)
class Answers:
    """Of one order to all: who did it, and what was wrong with those that did not. Who died meanwhile is in neither."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class Fleet:
    def __init__(self, is_alive: Callable[[str], Awaitable[bool]], kill: Callable[[str], Awaitable[None]]) -> None:
        self._is_alive = is_alive
        self._kill = kill
        self._members: dict[str, _Member] = {}
        self._numbers = itertools.count(1)

    @property
    def names(self) -> list[str]:
        """In the order in which they were admitted."""
        return list(self._members)

    def admit(self, name: str) -> None:
        """Again, for one that had lost sight of us: what it was told before is void."""
        self.drop(name)
        self._members[name] = _Member()

    def knows(self, name: str) -> bool:
        return name in self._members

    async def next(self, name: str, answer: Answer | None) -> Order | Wait:
        """A member tells how its last order went, and gets the next one."""
        member = self._members[name]
        waiting = member.answers.pop(answer.number, None) if answer is not None else None
        if answer is not None and waiting is not None and not waiting.done():
            waiting.set_result(answer)
        try:
            return await asyncio.wait_for(member.orders.get(), POLL_S)
        except TimeoutError:
            return Wait()

    async def ask(self, task: Task, timeout_s: float) -> Answers:
        """Everyone is told to do it; returns when all have answered, died, or used up their time."""
        return await self.ask_each(dict.fromkeys(self._members, task), timeout_s)

    async def ask_each(self, tasks: dict[str, Task], timeout_s: float) -> Answers:
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

    def lost(self, name: str) -> None:
        """A member joins again, so it won't answer what it was told."""
        for number, future in self._members[name].answers.items():
            if not future.done():
                future.set_result(Answer(number, "it lost sight of the holder of the weights"))

    async def evict(self, name: str) -> None:
        """It can't be trusted with any weights: it is killed, and Serve starts another in its place."""
        self.drop(name)
        await self._kill(name)

    def drop(self, name: str) -> None:
        member = self._members.pop(name, None)
        for future in member.answers.values() if member else ():
            future.cancel()

    async def drop_dead(self) -> None:
        await self._drop_dead(dict.fromkeys(self._members))

    async def _drop_dead(self, waiting: dict[str, asyncio.Future[Answer]] | dict[str, None]) -> None:
        for name in list(waiting):
            if not await self._is_alive(name):
                self.drop(name)
                waiting.pop(name)

    def _give(self, name: str, task: Task) -> asyncio.Future[Answer]:
        member, number = self._members[name], next(self._numbers)
        member.orders.put_nowait(Order(number, task))
        future = member.answers[number] = asyncio.get_running_loop().create_future()
        return future
