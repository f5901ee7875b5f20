"""Checks that code of others leaves no cancellation behind in a task, and that the task's own one stays."""

from __future__ import annotations

import asyncio

import pytest

from ray_gym.aio.leaked import no_leaked_cancellation, running_task


async def fails() -> None:
    raise ValueError


async def forks() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fails())


async def test_a_group_of_tasks_that_fails_leaves_none() -> None:
    task = running_task()
    assert task is not None
    with pytest.raises(ExceptionGroup), no_leaked_cancellation():
        await forks()
    assert task.cancelling() == 0


async def test_a_cancellation_that_goes_on_stays() -> None:
    async def waits() -> None:
        with no_leaked_cancellation():
            await asyncio.Event().wait()

    async def is_cancelled() -> int:
        try:
            await waits()
        except asyncio.CancelledError:
            task = running_task()
            assert task is not None
            return task.cancelling()
        return -1

    waiting = asyncio.create_task(is_cancelled())
    await asyncio.sleep(0)
    waiting.cancel()
    assert await waiting == 1


def test_outside_of_a_task_nothing_is_done() -> None:
    with no_leaked_cancellation():
        assert running_task() is None
