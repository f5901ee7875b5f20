"""Runs an awaitable, and holds it back once after it had to wait."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


@types.coroutine
def run_held(
    awaitable: Awaitable[Result], hold: Callable[[], Awaitable[None]] | None, counts: Callable[[], bool]
) -> Generator[Any, Any, tuple[Result, bool]]:
    """Returns the result of the awaitable, and whether it had to wait for anything that counts (`counts` is asked when
    a wait is over). After the first such wait, `hold` is awaited before the awaitable is resumed.

    The part before its first wait runs at once.
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
