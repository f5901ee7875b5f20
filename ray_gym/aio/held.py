"""Runs an awaitable, and delays it once, after its first wait."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


@types.coroutine
def run_held(
    awaitable: Awaitable[Result], hold: Callable[[], Awaitable[None]] | None, counts: Callable[[], bool]
) -> Generator[Any, Any, tuple[Result, bool]]:
    """Runs the awaitable. Returns its result, and True if one of its waits counted, else False.

    `counts` is called after each wait until it returns True: then this wait counts. After that wait, `hold` is awaited
    before the awaitable goes on (None: it goes on at once). The part before the first wait runs at once. An error of
    `hold`, and a cancellation, are raised inside the awaitable.

    Errors: those that the awaitable raises.
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
