"""Where in a journal's file the records are that are still needed: a compaction copies them without looking at any other."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bounds = npt.NDArray[np.int64]
"""Rows of (begin, end), in bytes."""


class Places:
    """By episode, and no longer than it is in flight."""

    def __init__(self) -> None:
        self._bounds: dict[str, array[int]] = {}
        """Begin, end, begin, end, ..."""
        self.bytes = 0
        """That are still needed."""

    def add(self, episode: str, begin: int, length: int) -> None:
        """What was just written, after all that was added before."""
        bounds = self._bounds.get(episode)
        if bounds is None:
            bounds = self._bounds[episode] = array("q")
        end = begin + length
        if bounds and bounds[-1] == begin:
            bounds[-1] = end
        else:
            bounds.append(begin)
            bounds.append(end)
        self.bytes += length

    def forget(self, episode: str) -> None:
        bounds = self._bounds.pop(episode, None)
        if bounds is not None:
            self.bytes -= sum(bounds[1::2]) - sum(bounds[::2])

    def pieces(self, size: int, to: int) -> Pieces:
        """Of a file of that size, what is to be copied to the place `to` of another."""
        return Pieces.of(self._all(), size, to)

    def moved(self, pieces: Pieces) -> dict[str, array[int]]:
        """Where they are once they are copied, and what had come after them meanwhile."""
        moved = pieces.moved(self._all()).tobytes()
        begin, found = 0, {}
        for episode, bounds in self._bounds.items():
            end = begin + len(bounds) * bounds.itemsize
            found[episode] = array("q", moved[begin:end])
            begin = end
        return found

    def take(self, moved: dict[str, array[int]]) -> None:
        """They are there now."""
        self._bounds = moved

    def _all(self) -> Bounds:
        """A copy."""
        return np.frombuffer(b"".join(self._bounds.values()), np.int64).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Pieces:
    """What is needed of a file, in its order, neighbours in one; and how far each moves when all are copied to another, one after the
    other. The last is the file's tail: whatever comes after the moment that they were taken."""

    begins: Bounds
    ends: Bounds
    """One less: the tail has none yet."""
    shifts: Bounds

    @classmethod
    def of(cls, bounds: Bounds, size: int, to: int) -> Pieces:
        begins, ends = bounds[np.argsort(bounds[:, 0])].T
        first = np.ones(len(begins), bool)
        first[1:] = begins[1:] != ends[:-1]
        begins, ends = begins[first], ends[np.roll(first, -1)]
        copied_to = to + np.append(0, np.cumsum(ends - begins))
        begins = np.append(begins, size)
        return cls(begins, ends, copied_to - begins)

    @property
    def tail(self) -> int:
        return int(self.begins[-1])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(begin, end) of each, the tail apart."""
        return iter(zip(self.begins.tolist(), self.ends.tolist(), strict=False))

    def moved(self, bounds: Bounds) -> Bounds:
        """A neighbour of the tail that has grown into it moves as one with it: the tail follows it in the copy, too."""
        return bounds + self.shifts[np.searchsorted(self.begins, bounds[:, 0], side="right") - 1, None]
