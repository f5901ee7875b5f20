"""Runs an awaitable that is held before it goes on after a wait."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


@types.coroutine
def run_held(
    awaitable: Awaitable[Result], hold: Callable[[], Awaitable[None]] | None, counts: Callable[[], bool]
) -> Generator[Any, Any, tuple[Result, bool]]:
    """Returns the result, and whether it had to wait for anything that counts (`counts` is asked when a wait is over).
    After the first such wait, `hold` is awaited before it goes on.

    The part before its first wait is done at once.
    """
    steps = awaitable.__await__()
    took_time = False
    try:
        waited = next(steps)
        while True:
            try:
                yield waited
                if not took_time and counts():
                    took_time = True
                    if hold is not None:
                        yield from hold().__await__()
            except BaseException as error:
                throw = getattr(steps, "throw", None)
                if throw is None:
                    raise
                waited = throw(error)
            else:
                waited = next(steps)
    except StopIteration as end:
        return end.value, took_time
