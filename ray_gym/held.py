"""An awaitable that is held before it goes on after a wait."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ended(Generic[Result]):
    """`took_time`: it had to wait for something; `was_held`: and was held after that."""

    result: Result
    took_time: bool
    was_held: bool


@types.coroutine
def held(
    awaitable: Awaitable[Result], hold: Callable[[], Awaitable[None]] | None, may_hold: Callable[[], bool]
) -> Generator[Any, Any, Ended[Result]]:
    """Held once: after the first of its waits at whose end `may_hold()`. What comes before its first wait is done at once."""
    steps = awaitable.__await__()
    took_time = was_held = False
    try:
        waited = next(steps)
        while True:
            took_time = True
            try:
                yield waited
                if hold is not None and not was_held and may_hold():
                    was_held = True
                    yield from hold().__await__()
            except BaseException as error:
                throw = getattr(steps, "throw", None)
                if throw is None:
                    raise
                waited = throw(error)
            else:
                waited = next(steps)
    except StopIteration as end:
        return Ended(end.value, took_time, was_held)
