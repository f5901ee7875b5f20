"""Runs several coroutines at the same time. If one raises, the others are cancelled, and the caller gets the error
itself, not in an exception group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ray_gym.aio.exits import without_exit

Result = TypeVar("Result")


async def run_concurrently(*coroutines: Coroutine[Any, Any, Result]) -> list[Result]:
    """Runs the coroutines at the same time, and returns their results, in the order of the arguments. If one raises,
    the others are cancelled.

    Errors: the first error that one of them raised, which may be a group of its own; ExitOfTask for a SystemExit. It is
    not in an exception group, as a TaskGroup's would be.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(without_exit(coroutine)) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return [task.result() for task in tasks]
    raise first  # out of the block, so that it keeps the error that it was raised after
