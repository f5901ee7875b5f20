"""Runs several coroutines at the same time; the first error reaches the caller as it is, and ends the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def run_concurrently(*coroutines: Coroutine[Any, Any, Result]) -> list[Result]:
    """Returns the coroutines' results, in their order.

    Errors: the first that any of them raised (a TaskGroup would wrap it, and hide its kind).
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
