"""Tracks where in a journal's file the needed records are, so that a compaction copies only these."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bounds = npt.NDArray[np.int64]
"""Rows of (begin, end), in bytes: int64 [n, 2]."""


class Places:
    """Holds the places in a journal's file of the records of each episode in flight."""

    def __init__(self) -> None:
        self._bounds: dict[str, array[int]] = {}
        """Places of each episode's records, as begin, end, begin, end, ... in bytes."""
        self.bytes = 0
        """Number of bytes that are needed."""

    def add(self, episode: str, begin: int, length: int) -> None:
        """Adds the place of a record: its offset and its length, in bytes. Records must be added in the order of their
        places.
        """
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
        """Forgets the places of an episode's records; does nothing if it has none."""
        bounds = self._bounds.pop(episode, None)
        if bounds is not None:
            self.bytes -= sum(bounds[1::2]) - sum(bounds[::2])

    def pieces(self, size: int, to: int) -> Pieces:
        """Returns the needed pieces of the file. `size`: bytes of the file, where the tail begins. `to`: offset in the
        new file at which the copy of the first piece will begin.
        """
        return Pieces.of(self._all(), size, to)

    def move(self, pieces: Pieces) -> dict[str, array[int]]:
        """Returns the places that all records will have in the new file, by episode, also those of records that were
        added after `pieces` was called. Changes nothing: `take` does.
        """
        moved = pieces.move(self._all()).tobytes()
        begin, found = 0, {}
        for episode, bounds in self._bounds.items():
            end = begin + len(bounds) * bounds.itemsize
            found[episode] = array("q", moved[begin:end])
            begin = end
        return found

    def take(self, moved: dict[str, array[int]]) -> None:
        """Replaces the places of all episodes by those that `move` returned."""
        self._bounds = moved

    def _all(self) -> Bounds:
        """Returns a copy of the bounds of all episodes, one after the other."""
        return np.frombuffer(b"".join(self._bounds.values()), np.int64).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Describes the needed parts of a file, in the file's order and joined where they touch, and how far a copy moves
    each.

    The last piece is the tail: everything that is appended after the pieces were determined.
    """

    begins: Bounds
    """Offset at which each piece begins: int64 [n]."""
    ends: Bounds
    """Offset at which each piece but the tail ends: int64 [n - 1]."""
    shifts: Bounds
    """Bytes that are added to the offsets in each piece: int64 [n]."""

    @classmethod
    def of(cls, bounds: Bounds, size: int, to: int) -> Pieces:
        """Makes the pieces of some bounds (in bytes), which may be in any order. The tail begins at offset `size` of
        the old file; the first piece is copied to offset `to` of the new one.
        """
        begins, ends = bounds[np.argsort(bounds[:, 0])].T
        first = np.ones(len(begins), bool)
        first[1:] = begins[1:] != ends[:-1]
        begins, ends = begins[first], ends[np.roll(first, -1)]
        copied_to = to + np.append(0, np.cumsum(ends - begins))
        begins = np.append(begins, size)
        return cls(begins, ends, copied_to - begins)

    @property
    def tail(self) -> int:
        """Returns the offset at which the tail begins."""
        return int(self.begins[-1])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yields (begin, end) of each piece but the tail."""
        return iter(zip(self.begins.tolist(), self.ends.tolist(), strict=False))

    def move(self, bounds: Bounds) -> Bounds:
        """Returns the bounds that records have in the new file, given their bounds in the old one (int64 [n, 2], in
        bytes).

        A record that touches the tail and has grown into it moves with the piece that it began in. The tail follows
        that piece in the copy.
        """
        return bounds + self.shifts[np.searchsorted(self.begins, bounds[:, 0], side="right") - 1, None]
