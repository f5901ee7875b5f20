"""Waits for the answers of a stream's host, and raises its errors as the host raised them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from ray_gym.errors import RunFailed, UserError, describe

ANSWER_S = 60.0
"""Seconds that the host may take to answer calls that have no limit of their own."""


class HostGone(RunFailed):
    """Says that the host of a stream has ended, as it does with the process that opened the stream."""


async def await_answer(reference: Any, within_s: float | None = ANSWER_S) -> Any:
    """Waits for the host's answer to a call, at most `within_s` seconds; None means no limit.

    Errors: UserError and RunFailed as the host raised them; HostGone if the host has ended; RunFailed if it does not
    answer.
    """
    with _errors_of_host(within_s):
        async with asyncio.timeout(within_s):
            return await reference


def get_answer(reference: Any, within_s: float = ANSWER_S) -> Any:
    """Does what `await_answer` does, and blocks."""
    with _errors_of_host(within_s):
        return ray.get(reference, timeout=within_s)


@contextmanager
def _errors_of_host(within_s: float | None) -> Iterator[None]:
    """Replaces Ray's errors by those that the host raised, or by others of ours."""
    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, UserError | RunFailed):
            raise error.cause from None
        raise RunFailed(f"the stream's host failed: {describe(error.cause or error)}") from error
    except RayActorError as error:
        raise HostGone(f"the stream's host is gone; open the stream again at its last cursor: {error}") from None
    except TimeoutError:
        raise RunFailed(f"the stream's host did not answer for {within_s} s") from None
