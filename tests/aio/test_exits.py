"""Checks that a task that exits fails alone, and is as other tasks otherwise."""

from __future__ import annotations

import asyncio
import sys
import warnings
from pathlib import Path

import pytest

from ray_gym.aio.concurrent import run_concurrently
from ray_gym.aio.exits import ExitOfTask, keep_exits


async def exits() -> None:
    await asyncio.sleep(0)
    sys.exit("bye")


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_a_task_that_exits_ends_neither_its_loop_nor_the_others() -> None:
    async def main() -> list[object]:
        keep_exits()
        return await asyncio.gather(exits(), doubled(2), asyncio.create_task(exits()), return_exceptions=True)

    first, two, second = asyncio.run(main())
    assert two == 4 and isinstance(first, ExitOfTask) and str(first) == str(second) == "SystemExit: bye"
    assert first.__traceback__ is not None and Path(__file__).name in str(
        [frame.tb_frame.f_code.co_filename for frame in frames(first)]
    )


def frames(error: BaseException) -> list[object]:
    found, traceback = [], error.__traceback__
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


async def test_what_is_run_at_the_same_time_may_exit() -> None:
    with pytest.raises(ExitOfTask, match="SystemExit: bye"):
        await run_concurrently(doubled(1), exits())


async def test_a_group_that_one_raises_and_what_it_was_raised_after_are_kept() -> None:
    async def raises_a_group() -> int:
        raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])

    async def raises_after() -> int:
        try:
            raise ZeroDivisionError
        finally:
            raise KeyError("b")

    with pytest.raises(ExceptionGroup, match="several") as group:
        await run_concurrently(doubled(1), raises_a_group())
    assert len(group.value.exceptions) == 2
    with pytest.raises(KeyError) as later:
        await run_concurrently(doubled(1), raises_after())
    assert isinstance(later.value.__context__, ZeroDivisionError)


def test_one_that_is_cancelled_before_it_begins_leaves_no_warning() -> None:
    async def main() -> str:
        keep_exits()
        task = asyncio.create_task(doubled(2), name="mine")
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() and task.get_coro().__qualname__ == "doubled"
        return task.get_name()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asyncio.run(main()) == "mine"
