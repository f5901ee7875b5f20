"""Runs the hooks of an environment at the start and the end of a worker, within a deadline and with their place in errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from ray_gym.environment import Environment
from ray_gym.errors import RunFailed, UserError, placed

PREPARE_S = 300.0
"""Seconds that `prepare_worker` may take, which may start servers."""
CLOSE_S = 25.0
"""Seconds that `close` may take."""


async def prepare(environment: Environment[Any, Any]) -> None:
    """Has an environment prepare its worker. Errors: UserError, also for other exceptions of its code, with their place,
    and if it takes more than `PREPARE_S` seconds.
    """
    try:
        await _within(PREPARE_S, environment.prepare_worker)
    except (UserError, RunFailed):
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"{prepare_hook(environment)} failed: {placed(error)}") from None


async def close(environment: Environment[Any, Any]) -> None:
    """Closes an environment. Errors: RunFailed for any exception of its code, with its place, and if it takes more than
    `CLOSE_S` seconds.
    """
    try:
        await _within(CLOSE_S, environment.close)
    except (Exception, SystemExit) as error:
        raise RunFailed(f"{type(environment).__name__}.close failed: {placed(error)}") from None


def prepare_hook(environment: Environment[Any, Any]) -> str:
    """Returns the name of an environment's `prepare_worker`; "" if it has none of its own."""
    has_own = type(environment).prepare_worker is not Environment.prepare_worker
    return f"{type(environment).__name__}.prepare_worker" if has_own else ""


async def _within(seconds: float, hook: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs a hook. One that is written without `async` has done its work when it returns."""
    try:
        async with asyncio.timeout(seconds) as deadline:
            doing: object = hook()
            if inspect.isawaitable(doing):
                await doing
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise TimeoutError(f"it has not ended within {seconds:g} s") from error
