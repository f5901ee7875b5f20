"""Runs several coroutines at the same time. If one raises, the others are cancelled, and the caller gets the error
itself, not in an exception group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def run_concurrently(*coroutines: Coroutine[Any, Any, Result]) -> list[Result]:
    """Runs the coroutines at the same time, and returns their results, in the order of the arguments. If one raises,
    the others are cancelled.

    Errors: the first error that one of them raised. It is not in an exception group, as a TaskGroup's would be; of a
    group that a coroutine raised, the first error is taken.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from first.__cause__
    return [task.result() for task in tasks]
