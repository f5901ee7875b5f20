"""Tells how far the planning of a run is where it takes long: its tasks are made or read, and its episodes planned."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

SLOW_S, SAY_S = 10.0, 60.0
"""Seconds after which it is told how far it is, and between further warnings."""
logger = logging.getLogger(__name__)
ItemT = TypeVar("ItemT")


def told_if_slow(items: Iterable[ItemT], tell: Callable[[int], str]) -> Iterator[ItemT]:
    """Yields items, and meanwhile logs a warning after `SLOW_S` seconds, then every `SAY_S`: what `tell` says of the number
    of items that were yielded and taken.
    """
    count, began, ended = 0, time.monotonic(), threading.Event()

    def watch() -> None:
        wait_s = SLOW_S
        while not ended.wait(wait_s):
            logger.warning(f"{tell(count)}, after {time.monotonic() - began:.0f} s")
            wait_s = SAY_S

    threading.Thread(target=watch, name="slow-generator", daemon=True).start()
    try:
        for item in items:
            yield item
            count += 1
    finally:
        ended.set()


def told_if_slowly_made(tasks: Iterator[ItemT], hook: str, wanted: int) -> Iterator[ItemT]:
    """Yields the `wanted` tasks that `hook`, a generator of an environment, makes, and tells if it takes long."""
    return told_if_slow(tasks, lambda made: f"{hook} has made {made:,} of {wanted:,} tasks, and is at work on the next")
