"""Checks that what workers spend never exceeds the budget of their run, whatever order things happen in, and whoever
dies meanwhile.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ray_gym.episode.purse import Allotment, Funds, Purse
from ray_gym.run.driver.budget import Budget

COSTS = st.integers(0, 30)


@dataclass
class Worker:
    """Holds a worker's purse and its calls: those that wait, as tasks, and those in flight, by what they reserved."""

    purse: Purse
    waiting: list[tuple[int, asyncio.Task[None]]] = field(default_factory=list)
    in_flight: list[int] = field(default_factory=list)


class Spending(RuleBasedStateMachine):
    """Plays workers, a driver and the file that survives both. Whatever is in flight when a worker dies is paid."""

    @initialize(limit=st.integers(1, 200), workers=st.integers(1, 3))
    def begin(self, limit: int, workers: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.limit, self.paid, self.made = limit, 0, 0
        self.written = 0
        self.budget = Budget(limit)
        self.workers: dict[str, Worker] = {}
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        self.made += 1
        self.workers[f"w{self.made}"] = Worker(Purse({}, lambda: None))

    def settle_loop(self) -> None:
        async def turns() -> None:
            for _ in range(3):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())
        for worker in self.workers.values():
            for amount, task in [one for one in worker.waiting if one[1].done()]:
                worker.waiting.remove((amount, task))
                if not task.cancelled():
                    worker.in_flight.append(amount)

    def pick(self, number: int) -> str:
        return sorted(self.workers)[number % len(self.workers)]

    @rule(number=st.integers(0, 5), most=st.integers(1, 60))
    def call(self, number: int, most: int) -> None:
        worker = self.workers[self.pick(number)]
        worker.waiting.append((most, self.loop.create_task(worker.purse.reserve(most))))
        self.settle_loop()

    @rule(number=st.integers(0, 5), share=st.floats(0, 1))
    def answer(self, number: int, share: float) -> None:
        worker = self.workers[self.pick(number)]
        if worker.in_flight:
            most = worker.in_flight.pop(0)
            cost = int(most * share)
            self.paid += cost
            worker.purse.settle(most, cost)
            self.settle_loop()

    @rule(number=st.integers(0, 5))
    def cancel(self, number: int) -> None:
        worker = self.workers[self.pick(number)]
        if worker.waiting:
            worker.waiting[0][1].cancel()
            self.settle_loop()

    @rule(number=st.integers(0, 5))
    def exchange(self, number: int) -> None:
        name = self.pick(number)
        self.budget.take(name, self.workers[name].purse.report())
        amount = self.budget.offer(name)
        assert 0 <= amount <= self.budget.left
        if amount:
            self.written = self.budget.charged + amount  # on the disk before anything else
            self.budget.grant(name, amount)
        allotment = Allotment(self.budget.granted(name), self.budget.is_scarce)
        self.workers[name].purse.allot(allotment)
        self.settle_loop()

    def die(self, name: str) -> None:
        worker = self.workers.pop(name)
        self.paid += sum(worker.in_flight)
        for _, task in worker.waiting:
            task.cancel()

    @rule(number=st.integers(0, 5))
    def kill_a_worker(self, number: int) -> None:
        name = self.pick(number)
        self.die(name)
        self.budget.close(name)
        self.add_worker()
        self.settle_loop()

    @rule()
    def kill_the_driver(self) -> None:
        """Its workers die with it; the next driver knows what was written."""
        for name in list(self.workers):
            self.die(name)
        assert self.paid <= self.written
        self.budget = Budget(self.limit, self.written)
        self.add_worker()
        self.add_worker()
        self.settle_loop()

    @precondition(lambda self: not any(worker.in_flight for worker in self.workers.values()))
    @rule()
    def wait_for_the_end(self) -> None:
        """With nothing in flight, some exchanges either let a waiting call begin, or find the budget used up."""
        if not any(worker.waiting for worker in self.workers.values()):
            return
        for _ in range(4):
            for number in range(len(self.workers)):
                self.exchange(number)
        begun = any(worker.in_flight for worker in self.workers.values())
        assert begun or self.budget.is_used_up
        if self.budget.is_used_up:
            assert self.budget.least_needed > self.limit - self.budget.charged

    @invariant()
    def nothing_exceeds_the_limit(self) -> None:
        if not hasattr(self, "budget"):
            return
        in_flight = sum(sum(worker.in_flight) for worker in self.workers.values())
        assert self.paid + in_flight <= self.budget.charged <= self.limit
        assert self.budget.charged <= max(self.written, self.budget.before)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            for worker in self.workers.values():
                for _, task in worker.waiting:
                    task.cancel()
            self.settle_loop()
            self.loop.close()


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


async def test_calls_are_paid_in_their_order() -> None:
    asked = []
    purse = Purse({}, lambda: asked.append(1))
    calls = [asyncio.create_task(purse.reserve(amount)) for amount in (50, 1, 1)]
    await asyncio.sleep(0)
    assert len(asked) == 3 and purse.report() == Funds(0, 0, needed=50, wanted=52 + 52 // 4)
    purse.allot(Allotment(49))
    await asyncio.sleep(0)
    assert not any(call.done() for call in calls), "the small ones wait behind the large one"
    purse.allot(Allotment(52))
    await asyncio.gather(*calls)
    purse.settle(50, 20)
    assert purse.report(gives_back=True) == Funds(20, 30)


def test_what_a_dead_worker_has_not_accounted_for_is_spent() -> None:
    budget = Budget(100)
    budget.take("w", Funds(needed=40, wanted=40))
    budget.grant("w", budget.offer("w"))
    budget.take("w", Funds(spent=5))
    assert budget.charged == 40
    budget.close("w")
    assert (budget.charged, budget.left) == (40, 60)


def test_a_call_that_costs_more_than_its_most_is_counted() -> None:
    budget = Budget(100)
    budget.take("w", Funds(needed=40, wanted=40))
    budget.grant("w", 40)
    budget.take("w", Funds(spent=70))
    assert (budget.charged, budget.left) == (70, 30)


def test_money_that_one_worker_does_not_need_goes_to_another() -> None:
    budget = Budget(100)
    budget.take("a", Funds(wanted=80))
    budget.grant("a", budget.offer("a"))
    budget.take("b", Funds(needed=50, wanted=60))
    assert budget.is_scarce and budget.offer("b") == 0 and not budget.is_used_up
    budget.take("a", Funds(given_back=80))
    assert budget.offer("b") == 60
