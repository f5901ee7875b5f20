"""Ends hooks and tools that give the event loop back and never come to an end: they wait for ever.

Scripted players answer at once, so only the environment can take long between two of their answers.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import FrameType

from ray_gym.check.finding import Finding
from ray_gym.episode.rules import Rules
from ray_gym.run.worker.watchdog import authors_place

WAITS_S = 60.0
"""Most seconds between two answers of players: more than libraries are given to make a task or to score an answer."""
_MEND = (
    "give what it waits for a deadline, `async with asyncio.timeout(seconds)`, and see that it is never left waiting"
)


class WaitsForEver(Exception):
    """Says that something in the environment waits for ever.

    Nothing else is checked then, since it might wait again.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.what)
        self.finding = finding


@asynccontextmanager
async def limit_waiting(environment: Rules, doing: str) -> AsyncIterator[Callable[[], None]]:
    """Limits how long the block may wait.

    Yields a function, which is to be called whenever the block has got further. `doing` says in messages what the block
    does. Errors: WaitsForEver if the function is not called for WAITS_S seconds.
    """
    loop, is_over = asyncio.get_running_loop(), False

    def goes_on() -> None:
        if not (is_over or deadline.expired()):
            deadline.reschedule(loop.time() + WAITS_S)

    try:
        async with asyncio.timeout(WAITS_S) as deadline:
            try:
                yield goes_on
            finally:
                is_over = True
    except TimeoutError as error:
        if not deadline.expired():
            raise
        where = _place(error, environment) or type(environment).__name__
        what = f"it waits for ever: it was ended after {WAITS_S:g} s ({doing})"
        raise WaitsForEver(Finding(where, what, _MEND)) from error


def _place(error: BaseException, environment: Rules) -> str | None:
    """Returns the place where the environment's own code was waiting when it was cancelled; None if it was not."""
    for one in _reasons(error):
        stack: list[FrameType] = [frame for frame, _ in traceback.walk_tb(one.__traceback__)]
        place = authors_place(stack[::-1], environment)
        if place is not None:
            return place
    return None


def _reasons(error: BaseException | None) -> Iterator[BaseException]:
    """Yields an error, then the error that led to it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
