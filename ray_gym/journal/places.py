"""Remembers where in a journal's file the records are that are still needed: a compaction copies them without looking
at any other.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bounds = npt.NDArray[np.int64]
"""Rows of (begin, end), in bytes: int64 [n, 2]."""


class Places:
    """Holds the places of records by episode, no longer than the episode is in flight."""

    def __init__(self) -> None:
        self._bounds: dict[str, array[int]] = {}
        """Begin, end, begin, end, ... of each episode, in bytes."""
        self.bytes = 0
        """Bytes that are still needed."""

    def add(self, episode: str, begin: int, length: int) -> None:
        """Adds a record that was just written, after all that was added before."""
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
        """Forgets the places of an episode."""
        bounds = self._bounds.pop(episode, None)
        if bounds is not None:
            self.bytes -= sum(bounds[1::2]) - sum(bounds[::2])

    def pieces(self, size: int, to: int) -> Pieces:
        """Returns the pieces of a file of that size which are to be copied to the place `to` of another."""
        return Pieces.of(self._all(), size, to)

    def move(self, pieces: Pieces) -> dict[str, array[int]]:
        """Returns where the records are once the pieces are copied, and those that had come after them meanwhile."""
        moved = pieces.move(self._all()).tobytes()
        begin, found = 0, {}
        for episode, bounds in self._bounds.items():
            end = begin + len(bounds) * bounds.itemsize
            found[episode] = array("q", moved[begin:end])
            begin = end
        return found

    def take(self, moved: dict[str, array[int]]) -> None:
        """Takes over the places of the records after they moved."""
        self._bounds = moved

    def _all(self) -> Bounds:
        """Returns a copy of all bounds."""
        return np.frombuffer(b"".join(self._bounds.values()), np.int64).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces are the parts of a file that are needed, in its order, neighbours in one; and how far each moves when all
    are copied to another file, one after the other.

    The last piece is the file's tail: all that comes after the moment that they were taken.
    """

    begins: Bounds
    ends: Bounds
    """One less than `begins`: the tail has no end yet."""
    shifts: Bounds

    @classmethod
    def of(cls, bounds: Bounds, size: int, to: int) -> Pieces:
        """Makes pieces of bounds; the tail begins at `size`, and the first piece is copied to `to`."""
        begins, ends = bounds[np.argsort(bounds[:, 0])].T
        first = np.ones(len(begins), bool)
        first[1:] = begins[1:] != ends[:-1]
        begins, ends = begins[first], ends[np.roll(first, -1)]
        copied_to = to + np.append(0, np.cumsum(ends - begins))
        begins = np.append(begins, size)
        return cls(begins, ends, copied_to - begins)

    @property
    def tail(self) -> int:
        """Returns where the tail begins."""
        return int(self.begins[-1])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yields (begin, end) of each piece but the tail."""
        return iter(zip(self.begins.tolist(), self.ends.tolist(), strict=False))

    def move(self, bounds: Bounds) -> Bounds:
        """Returns where bounds are after the copy.

        A neighbour of the tail that has grown into it moves as one with it: the tail follows it in the copy, too.
        """
        return bounds + self.shifts[np.searchsorted(self.begins, bounds[:, 0], side="right") - 1, None]
