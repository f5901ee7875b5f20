"""Tells that an environment's generator takes long to make the tasks of a run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import TypeVar

SLOW_S, SAY_S = 10.0, 60.0
"""Seconds after which a generator is called slow, and between further warnings."""
logger = logging.getLogger(__name__)
MadeT = TypeVar("MadeT")


def told_if_slow(tasks: Iterator[MadeT], hook: str) -> Iterator[MadeT]:
    """Yields tasks, and meanwhile logs a warning after `SLOW_S` seconds, then every `SAY_S`: how many `hook` has made."""
    count, began, ended = 0, time.monotonic(), threading.Event()

    def watch() -> None:
        wait_s = SLOW_S
        while not ended.wait(wait_s):
            logger.warning(
                f"{hook} has made {count} tasks in {time.monotonic() - began:.0f} s, and is at work on the next"
            )
            wait_s = SAY_S

    threading.Thread(target=watch, name="slow-generator", daemon=True).start()
    try:
        for task in tasks:
            yield task
            count += 1
    finally:
        ended.set()
