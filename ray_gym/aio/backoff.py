"""Computes how long to wait before a failed call is retried."""

from __future__ import annotations

import random
from collections.abc import Iterator


def pause_s(tried: int, first_s: float = 0.5, longest_s: float = 30.0) -> float:
    """Returns the seconds to wait before the next try of a call, after `tried` earlier retries: `first_s`, doubled for
    each of them, at most `longest_s`, times a random factor from 0.5 to 1.

    The factor keeps thousands of episodes from retrying at the same instant.
    """
    return min(first_s * 2.0 ** min(tried, 30), longest_s) * random.uniform(0.5, 1.0)


def pauses(first_s: float, longest_s: float, within_s: float) -> Iterator[float]:
    """Yields the pauses between the tries of a call, in seconds, until their sum has reached `within_s`; the last pause
    may exceed it. They double from `first_s` up to `longest_s`, each times a random factor from 0.5 to 1.
    """
    waited_s, tried = 0.0, 0
    while waited_s < within_s:
        pause = pause_s(tried, first_s, longest_s)
        waited_s, tried = waited_s + pause, tried + 1
        yield pause
