"""Takes the groups of a stream in the order of their numbers: step k trains on groups k * size to (k + 1) * size - 1.

A stream gives groups as they are finished. By this order, the same groups make the same step whatever was killed.
"""

from __future__ import annotations

from typing import Any

from ray_gym.errors import RunFailed
from ray_gym.stream import Group


class Batches:
    """Keeps the groups that came before their turn. They are not acknowledged, so a restart brings them again."""

    def __init__(self, stream: Any, size: int) -> None:
        """Takes an open stream (`BlockingStream`) and the number of groups of a batch."""
        self._stream = stream
        self._size = size
        self._held: dict[int, Group] = {}

    def take(self, step: int) -> list[Group]:
        """Waits for the groups of a step. Those that the stream has dropped are missing.

        Errors: RunFailed if it has dropped all of them; those of the stream.
        """
        wanted = range(step * self._size, (step + 1) * self._size)
        while not all(number in self._held or self._is_dropped(number) for number in wanted):
            group = next(self._stream)
            self._held[group.number] = group
        batch = [self._held.pop(number) for number in wanted if number in self._held]
        if not batch:
            where = f"{self._stream.location}/dropped"
            raise RunFailed(f"step {step}: all groups {wanted[0]} to {wanted[-1]} were dropped; {where} says why")
        return batch

    def _is_dropped(self, number: int) -> bool:
        """Says whether a group that was not trained on is settled: the stream dropped it, and says why in its run."""
        cursor = self._stream.cursor
        return number < cursor["next"] or number in cursor["beyond"]
