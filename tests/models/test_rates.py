"""Checks that calls begin no faster than their endpoint's limits a minute, on a clock that only sleeping moves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ray_gym.models.rates import MINUTE_S, Bucket, RateLimit

UNITS = st.integers(1, 500)


@dataclass
class Time:
    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds


@settings(max_examples=30)
@given(st.lists(st.tuples(UNITS, st.floats(0, 1), st.floats(0, 30)), min_size=1, max_size=40), st.floats(0.5, 50))
def test_no_stretch_of_time_takes_more_than_its_share(calls: list[tuple[int, float, float]], per_s: float) -> None:
    """Calls come after pauses, wait as long as they are told to, and give a part of what they took back at once."""
    bucket, now = Bucket(per_s, 0.0), 0.0
    began: list[tuple[float, float]] = []
    for units, part, pause in calls:
        now += pause
        for _ in range(3):  # rounding may ask for another moment
            now += bucket.delay_s(units, now)
        assert bucket.delay_s(units, now) == 0
        bucket.take(units, now)
        bucket.give_back(int(units * part), now)
        began.append((now, units - int(units * part)))
    most = max(units for units, _, _ in calls)
    for first, (start, _) in enumerate(began):
        for last in range(first, len(began)):
            taken = sum(units for _, units in began[first : last + 1])
            assert taken <= per_s * (began[last][0] - start) + most + 1e-6


def test_a_new_bucket_owes_a_call() -> None:
    """Checks that a worker which replaces a dead one begins where a call at that moment would leave it."""
    bucket = Bucket(2.0, 0.0)
    assert bucket.delay_s(10, 0.0) == 5.0
    assert bucket.delay_s(10, 5.0) == 0.0


def test_time_that_nobody_uses_is_lost() -> None:
    bucket = Bucket(1.0, 0.0)
    bucket.delay_s(1, 0.0)
    bucket.take(3, 1000.0)
    assert bucket.delay_s(1, 1000.0) == 3.0


async def test_requests_are_spread_over_the_minute() -> None:
    time = Time()
    limit = RateLimit(30, None, time.clock, time.sleep)
    began = []
    while time.now < 5 * MINUTE_S:
        await limit.wait(7)
        began.append(time.now)
    for start in began:
        assert sum(start <= at < start + MINUTE_S for at in began) <= 30
    assert len(began) > 4 * 29


async def test_tokens_are_spread_and_those_not_taken_come_back() -> None:
    time = Time()
    limit = RateLimit(None, 6000, time.clock, time.sleep)
    for _ in range(100):
        await limit.wait(1000)
        limit.give_back(900)
    spent = 100 * 100
    assert spent / 6000 * MINUTE_S == pytest.approx(time.now, rel=0.2)


class JumpingLoop(asyncio.SelectorEventLoop):
    """Skips the time in which nothing happens."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        select = self._selector.select  # type: ignore[attr-defined]

        def jump(timeout: float | None = None) -> object:
            self.now += timeout or 0.0
            return select(0)

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


async def _took_in_calls(callers: int, call_s: float, for_s: float) -> list[tuple[float, int]]:
    """Returns when calls began, and their tokens: 200 of the 1500 that each may take, of a limit of 60,000 a minute."""
    clock = asyncio.get_running_loop().time
    limit, began = RateLimit(None, 60_000, clock), []

    async def caller() -> None:
        while clock() < for_s:
            await limit.wait(1500)
            began.append((clock(), 200))
            await asyncio.sleep(call_s)
            limit.give_back(1300)

    await asyncio.gather(*(caller() for _ in range(callers)))
    return began


@pytest.mark.clock
@pytest.mark.parametrize(("callers", "call_s"), [(8, 0.05), (1, 0.05), (400, 30.0)])
def test_tokens_not_taken_come_back_to_calls_that_wait_already(callers: int, call_s: float) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        took = runner.run(_took_in_calls(callers, call_s, 10 * MINUTE_S))
    taken = [sum(units for at, units in took if start <= at < start + MINUTE_S) for start, _ in took]
    assert max(taken) <= 60_000 + 1500
    last = [units for at, units in took if 8 * MINUTE_S <= at < 10 * MINUTE_S]
    assert sum(last) / 2 > (0.9 if callers > 1 else 0.75) * 60_000


def test_what_comes_back_while_nobody_waits_makes_no_burst_later() -> None:
    async def burst() -> float:
        clock = asyncio.get_running_loop().time
        limit = RateLimit(None, 60_000, clock)
        for _ in range(10):
            await limit.wait(1500)
        await asyncio.sleep(MINUTE_S)
        for _ in range(10):
            limit.give_back(1500)
        before = clock()
        for _ in range(10):
            await limit.wait(1500)
        return clock() - before

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        assert runner.run(burst()) == pytest.approx(9 * 1.5)


async def test_a_share_is_a_part_of_the_limit() -> None:
    time = Time()
    limits = [RateLimit(60, None, time.clock, time.sleep) for _ in range(2)]
    began = []
    for limit in limits:
        limit.set_share(0.5)
    while time.now < 3 * MINUTE_S:
        limit = min(limits, key=lambda one: one._delay_s(1))
        await limit.wait(1)
        began.append(time.now)
    for start in began:
        assert sum(start <= at < start + MINUTE_S for at in began) <= 60
    assert len(began) > 2 * 56


async def test_calls_begin_in_their_order_though_a_later_one_is_smaller() -> None:
    limit = RateLimit(None, 60_000)
    order: list[int] = []

    async def call(number: int, tokens: int) -> None:
        await limit.wait(tokens)
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number, tokens in enumerate((40, 1, 1, 1)):
            group.create_task(call(number, tokens))
    assert order == [0, 1, 2, 3]


async def test_another_try_makes_later_calls_wait() -> None:
    time = Time()
    limit = RateLimit(61, None, time.clock, time.sleep)
    await limit.wait(1)
    limit.count_again()
    before = time.now
    await limit.wait(1)
    assert time.now - before == pytest.approx(2.0)


def test_without_limits_there_is_none() -> None:
    assert RateLimit.of(None, None) is None and RateLimit.of(1, None) is not None
