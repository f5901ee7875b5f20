"""Gathers requests for episodes of one task, so that they are played as one group.

NeMo RL asks for each episode of a prompt by itself, all of them at about the same time.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Play = Callable[[dict[str, Any], int], list[Any]]
"""Function that plays a task as often as is said, and returns as many outcomes."""


@dataclass(slots=True)
class Gathered:
    """Holds the requests for a task that are played together."""

    wanted: int = 1
    """Number of the requests."""
    outcomes: list[Any] = field(default_factory=list)
    """Outcomes that no request has taken yet."""
    error: Exception | None = None
    """Error that ended the play, for all requests."""
    ended: bool = False


class Gathering:
    """Gives each request an outcome of its own. Threads share it."""

    def __init__(self, play: Play, most: int, within_s: float) -> None:
        """Takes the function that plays. A task is played once `most` requests for it are there, or after `within_s`
        seconds since the first with as many as there are: one that is repeated after a failure comes alone.
        """
        self._play = play
        self._most = most
        self._within_s = within_s
        self._changed = threading.Condition()
        self._open: dict[str, Gathered] = {}

    def outcome(self, task: dict[str, Any]) -> Any:
        """Waits until the task is played, and returns an outcome. Errors: those of the function."""
        key = json.dumps(task, sort_keys=True)
        with self._changed:
            found = self._open.get(key)
            if found is not None:
                found.wanted += 1
                if found.wanted == self._most:
                    self._changed.notify_all()
            else:
                found = self._open[key] = Gathered()
                self._wait_for_others(key, found)
                self._changed.release()
                try:
                    self._play_all(task, found)
                finally:
                    self._changed.acquire()
                    found.ended = True
                    self._changed.notify_all()
            self._changed.wait_for(lambda: found.ended)
            if found.error is not None:
                raise found.error
            return found.outcomes.pop(0)

    def _wait_for_others(self, key: str, found: Gathered) -> None:
        """Waits for the requests that are played together, and lets no more come to them."""
        ends = time.monotonic() + self._within_s
        while found.wanted < self._most and (left := ends - time.monotonic()) > 0:
            self._changed.wait(left)
        del self._open[key]

    def _play_all(self, task: dict[str, Any], found: Gathered) -> None:
        try:
            found.outcomes = self._play(task, found.wanted)
        except Exception as error:
            found.error = error
