"""Takes back cancellations of a task that code of others has left behind."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class no_leaked_cancellation:
    """Makes the task's count of cancellations, on leaving the block, what it was before, unless CancelledError leaves it.

    A `TaskGroup` whose task fails cancels its parent, and Python before 3.13 doesn't take that back if the parent was
    already waiting for it: from then on the task would count as cancelled, and a CancelledError of anybody's as its own.
    """

    __slots__ = ("_before", "_task")

    def __enter__(self) -> None:
        self._task = running_task()
        self._before = self._task.cancelling() if self._task is not None else 0

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        if self._task is None or kind is asyncio.CancelledError:
            return
        while self._task.cancelling() > self._before:
            self._task.uncancel()


def running_task() -> asyncio.Task[Any] | None:
    """Returns the task that runs; None outside of any."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def is_cancelled() -> bool:
    """Says whether this task is being cancelled, rather than that the author's code raised CancelledError."""
    task = running_task()
    return task is not None and task.cancelling() > 0


def is_end_from_outside(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Says whether an exception out of an author's code ends that from outside: its task is being cancelled, or its
    coroutine is being closed, which another task does than the one in which it ran.

    `task`: the task in which the code began (`running_task`).
    """
    if isinstance(error, GeneratorExit):
        return task is None or running_task() is not task
    return isinstance(error, asyncio.CancelledError) and is_cancelled()
