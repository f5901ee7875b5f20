"""An awaitable that is held before it goes on after its first wait."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


@types.coroutine
def held(
    awaitable: Awaitable[Result], hold: Callable[[], Awaitable[None]] | None
) -> Generator[Any, Any, tuple[Result, bool]]:
    """The result, and whether it had to wait for anything. What comes before the first wait is done at once."""
    steps = awaitable.__await__()
    try:
        waited = next(steps)
    except StopIteration as end:
        return end.value, False
    try:
        yield waited
        if hold is not None:
            yield from hold().__await__()
    except BaseException as error:
        throw = getattr(steps, "throw", None)
        if throw is None:
            raise
        try:
            waited = throw(error)
        except StopIteration as end:
            return end.value, True
        yield waited
    return (yield from steps), True
