"""Says how long to wait before a call is made again after a failure."""

from __future__ import annotations

import random
from collections.abc import Iterator


def pause_s(tried: int, first_s: float = 0.5, longest_s: float = 30.0) -> float:
    """Returns seconds to wait before the next try, after `tried` tries: they double each time, up to `longest_s`.

    The jitter keeps thousands of episodes from coming back at the same instant.
    """
    return min(first_s * 2.0 ** min(tried, 30), longest_s) * random.uniform(0.5, 1.0)


PATIENCE_S = 30.0
"""Seconds that the waits between the tries of one call add up to. A replica that died is back in about 6 s
(measured).
"""
LONGEST_WAIT_S = 6.0
"""Seconds of one wait, at most."""


def retry_waits() -> Iterator[float]:
    """Yields the seconds to wait between tries: exponential, with jitter, so that calls which failed together don't
    come back together.
    """
    total = 0.0
    longest = 0.2
    while total < PATIENCE_S:
        wait_s = random.uniform(0.5, 1) * longest
        total += wait_s
        longest = min(2 * longest, LONGEST_WAIT_S)
        yield wait_s
