"""Keeps a SystemExit within the task that raises it: asyncio would end the event loop by it, and all that runs on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


class ExitOfTask(Exception):
    """Stands for the SystemExit that the code of a task raised, as `sys.exit` and argparse do."""


def without_exit(coroutine: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
    """Returns a coroutine that does as the given one, but raises ExitOfTask for a SystemExit. It begins when it begins."""
    return _WithoutExit(coroutine)


def keep_exits() -> None:
    """Has all tasks that the running loop makes from now on raise ExitOfTask for a SystemExit, unless it has a task factory
    already.
    """
    loop = asyncio.get_running_loop()
    if loop.get_task_factory() is None:
        loop.set_task_factory(_make_task)


def _make_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Result] | Generator[Any, None, Result],
    **options: Any,
) -> asyncio.Task[Result]:
    kept = without_exit(coroutine) if isinstance(coroutine, Coroutine) else coroutine
    return asyncio.Task(kept, loop=loop, **options)


class _WithoutExit(Coroutine[Any, Any, Result]):
    """Wraps a coroutine. An `async def` around it would warn of it if it is cancelled before it has begun."""

    def __init__(self, coroutine: Coroutine[Any, Any, Result]) -> None:
        self._coroutine = coroutine

    def __getattr__(self, name: str) -> Any:
        """Returns the coroutine's own name, frame and the like, by which stacks are told."""
        return getattr(self._coroutine, name)

    def __await__(self) -> Generator[Any, Any, Result]:
        raise TypeError("it is a task's, and is not awaited")

    def send(self, value: Any) -> Any:
        return self._kept(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._kept(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def _kept(self, step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except SystemExit as error:
            raise ExitOfTask(f"SystemExit: {error}").with_traceback(error.__traceback__) from None
