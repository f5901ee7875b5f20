"""Measures how much of the time trainer and engine wait for each other."""

from __future__ import annotations

import math
import threading
import time
from types import TracebackType
from typing import Any

INTERVAL_S = 0.25


class EngineWatch:
    """Asks a stream again and again whether it plays anything, from a thread of its own, while it is entered."""

    def __init__(self, stream: Any) -> None:
        """Takes an open stream (`BlockingStream`)."""
        self._stream = stream
        self._seen: list[tuple[float, bool]] = []
        self._ended = threading.Event()
        self.entered_at = math.nan
        """Time of `time.monotonic()` at which it was entered."""
        self._thread = threading.Thread(target=self._watch, name="engine watch", daemon=True)

    def __enter__(self) -> EngineWatch:
        self.entered_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def waiting_share(self, began: float, ended: float) -> float:
        """Returns the share of a time in which no group was played; NaN if nobody looked. Arguments: `time.monotonic()`."""
        looks = [playing for at, playing in self._seen if began <= at <= ended]
        return looks.count(False) / len(looks) if looks else float("nan")

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            playing = self._stream.status()["playing"] > 0
            self._seen.append((time.monotonic(), playing))
