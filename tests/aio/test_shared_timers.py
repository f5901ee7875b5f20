"""Checks deadlines that share a timer: each passes at its own time, and cancels nobody else's task."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from ray_gym.aio.deadlines import SharedTimer, SharedTimers


async def waits(timer: SharedTimer, answered: asyncio.Event | None = None) -> float:
    """Returns how many seconds a call was waited for. Errors: TimeoutError if its deadline passed."""
    began = time.monotonic()
    with timer.deadline():
        await (answered or asyncio.Event()).wait()
    return time.monotonic() - began


async def test_each_call_has_its_whole_time_whatever_others_do() -> None:
    timer, answered = SharedTimers().timer(0.3), asyncio.Event()
    began = time.monotonic()
    answering, late = asyncio.create_task(waits(timer, answered)), asyncio.create_task(waits(timer))
    await asyncio.sleep(0)
    answered.set()
    assert await answering < 0.3
    await asyncio.sleep(0.1)  # of the time that the late one has
    later = asyncio.create_task(waits(timer))
    with pytest.raises(TimeoutError):
        await late
    assert time.monotonic() - began > 0.29
    assert not later.done()
    with pytest.raises(TimeoutError):
        await later
    assert time.monotonic() - began > 0.39
    assert not timer.is_running


async def test_the_timer_goes_with_the_last_call() -> None:
    timer, answered = SharedTimers().timer(3600), asyncio.Event()
    calls = [asyncio.create_task(waits(timer, answered)) for _ in range(3)]
    await asyncio.sleep(0)
    assert timer.is_running
    answered.set()
    await asyncio.gather(*calls)
    assert not timer.is_running


async def test_who_is_cancelled_by_others_is_cancelled() -> None:
    call = asyncio.create_task(waits(SharedTimers().timer(3600)))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_deadline_that_is_swallowed_is_known_to_have_passed() -> None:
    async def stubborn() -> bool:
        with SharedTimers().timer(0.01).deadline() as deadline, contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        task = asyncio.current_task()
        return deadline.has_passed and task is not None and not task.cancelling()

    assert await asyncio.create_task(stubborn())


def test_those_with_the_same_time_share_a_timer() -> None:
    deadlines = SharedTimers()
    assert deadlines.timer(1) is deadlines.timer(1) is not deadlines.timer(2)
