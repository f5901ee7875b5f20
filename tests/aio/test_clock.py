"""Measures the time of an episode: what counts, what doesn't, and that its limits move with it."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from ray_gym.aio.clock import ActiveClock, share_clock


def aged(seconds: float) -> ActiveClock:
    clock = ActiveClock()
    clock.set_age(seconds)
    return clock


def about(seconds: float) -> object:
    return pytest.approx(seconds, abs=0.2)


def same(seconds: float) -> object:
    """Matches a number of seconds but for the rounding of sums and differences."""
    return pytest.approx(seconds, abs=1e-9)


async def fires(clock: ActiveClock, at_s: float) -> float:
    """Returns after how many seconds a limit ended something that never ends by itself."""
    began = time.monotonic()
    async with asyncio.timeout(10):
        with pytest.raises(TimeoutError):
            async with clock.limit(at_s):
                await asyncio.Event().wait()
    return time.monotonic() - began


def test_it_begins_at_nothing_and_goes_on_from_what_was_recorded() -> None:
    assert ActiveClock().elapsed_s == about(0) and aged(100).elapsed_s == about(100)
    clock = aged(100)
    clock.set_age(40)
    assert clock.elapsed_s == about(40)


def test_what_was_lost_does_not_count_and_is_left_out_once() -> None:
    clock, now = aged(10), time.monotonic()
    clock.exclude(now - 4)
    assert clock.elapsed_s == about(6)
    clock.exclude(now - 4)
    clock.exclude(now - 1)
    assert clock.elapsed_s == about(6), "several calls that were lost at once"


def test_it_stands_still_for_a_pause_that_is_to_come() -> None:
    clock = aged(10)
    clock.exclude(time.monotonic() - 4, 1000)
    stands = clock.elapsed_s
    assert stands == about(6) == clock.elapsed_s and clock.elapsed_s == same(stands)
    clock.exclude(time.monotonic(), 500)
    assert clock.elapsed_s == same(stands), "a shorter pause of another call within it"
    clock.exclude(time.monotonic(), 2000)
    assert clock.elapsed_s == same(stands), "a longer one"
    clock.set_age(30)
    assert clock.elapsed_s == pytest.approx(30)


async def test_a_limit_is_at_an_age_of_the_episode() -> None:
    assert await fires(aged(50), 50.05) == pytest.approx(0.05, abs=0.2)
    assert await fires(aged(50), 20) == about(0), "at once when it is older"


async def test_a_limit_moves_with_what_does_not_count() -> None:
    clock = ActiveClock()
    asyncio.get_running_loop().call_soon(lambda: clock.exclude(time.monotonic(), 0.4))
    assert 0.4 <= await fires(clock, 0.05) < 1.5


async def test_a_limit_comes_at_once_when_a_replay_makes_the_episode_older() -> None:
    clock = ActiveClock()
    asyncio.get_running_loop().call_soon(lambda: clock.set_age(100))
    assert await fires(clock, 60) == about(0)


async def test_limits_nest_and_are_forgotten() -> None:
    clock = ActiveClock()
    async with clock.limit(60) as outer, clock.limit(30):
        clock.exclude(time.monotonic() - 1)
    clock.set_age(100)
    assert not outer.expired() and clock._limits == {}


async def test_it_stands_still_while_something_is_waited_for() -> None:
    clock = aged(10)
    with clock.count_wait():
        await asyncio.sleep(0.3)
        assert clock.elapsed_s == pytest.approx(10, abs=0.1)
        with clock.count_wait():
            await asyncio.sleep(0.3)
        clock.exclude(time.monotonic() - 0.1)
    assert clock.elapsed_s == pytest.approx(10, abs=0.1)
    await asyncio.sleep(0.3)
    assert clock.elapsed_s == pytest.approx(10.3, abs=0.1), "and goes on"


async def test_what_goes_on_meanwhile_counts() -> None:
    clock = aged(10)
    with clock.count_wait():
        await asyncio.sleep(0.3)
        with clock.count_work():
            assert await fires(clock, 10.3) == pytest.approx(0.3, abs=0.2)
        await asyncio.sleep(0.3)
    assert clock.elapsed_s == pytest.approx(10.3, abs=0.2)


async def test_limits_wait_with_it_and_come_after() -> None:
    clock = ActiveClock()

    async def wait() -> None:
        with clock.count_wait():
            await asyncio.sleep(0.4)

    waiting = asyncio.create_task(wait())
    assert 0.4 <= await fires(clock, 0.1) < 1.5
    await waiting


async def test_a_limit_that_is_set_meanwhile_waits_too() -> None:
    clock = ActiveClock()
    with clock.count_wait():
        async with clock.limit(0.05) as limit:
            await asyncio.sleep(0.2)
        assert not limit.expired()


async def test_what_is_done_in_common_stands_while_one_waits_and_none_goes_on() -> None:
    """Each of them has a clock of its own, which its own waiting alone stops."""
    first, second = aged(50), aged(0)
    with share_clock([first, second]) as common:
        assert common.elapsed_s == about(0)
        with second.count_wait():
            await asyncio.sleep(0.3)
            assert common.elapsed_s == pytest.approx(0, abs=0.1), "the first has nothing to do"
            with first.count_work():
                assert await fires(common, 0.3) == pytest.approx(0.3, abs=0.2)
            await asyncio.sleep(0.3)
        assert common.elapsed_s == pytest.approx(0.3, abs=0.2)
        assert first.elapsed_s > 50.8 and second.elapsed_s == pytest.approx(0, abs=0.1)
    with first.count_wait():
        await asyncio.sleep(0.3)
    assert common.elapsed_s == pytest.approx(0.6, abs=0.2), "what they do by themselves does not stop it"


async def test_who_waits_already_when_something_common_begins_is_counted() -> None:
    clock = ActiveClock()
    with clock.count_wait(), share_clock([clock]) as common:
        await asyncio.sleep(0.3)
        assert common.elapsed_s == pytest.approx(0, abs=0.1)


async def test_what_one_of_them_loses_is_not_the_time_of_what_is_done_in_common() -> None:
    first, second = aged(0), aged(0)
    with share_clock([first, second]) as common:
        asyncio.get_running_loop().call_soon(lambda: second.exclude(time.monotonic(), 0.4))
        assert 0.4 <= await fires(common, 0.05) < 1.5
    assert first.elapsed_s >= 0.4


async def test_the_replays_of_one_of_them_are_not_its_time_either() -> None:
    """The common clock counts neither the time of a replay nor the age that the replay restores. When that was
    recorded, the episode may have waited for the rest of its group.
    """
    first, second = aged(0), aged(0)
    second.set_replaying(True)
    with share_clock([first, second]) as common:
        async with common.limit(0.05) as limit:
            await asyncio.sleep(0.2)
            second.set_age(1000)
        assert not limit.expired()
        second.set_replaying(False)
        assert common.elapsed_s == pytest.approx(0, abs=0.1) and await fires(common, 0.1) == pytest.approx(0.1, abs=0.2)


async def test_code_that_swallows_the_end_of_what_is_done_in_common_is_overdue_in_each_episode() -> None:
    clock = ActiveClock()
    with share_clock([clock]) as common:
        async with common.limit(0.01):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await asyncio.sleep(0.1)
            assert clock.overdue_s >= 0.1
    assert clock.overdue_s == 0
