"""Shares the groups of one stream out among the ranks of a trainer. It uses neither Ray nor a clock.

A group goes to the rank that was given fewest so far, and to the lowest of them if there are several: the ranks take
turns. A group that is dropped counts for nobody, so its rank gets the next one, and the ranks stay even. (The group's
number modulo the number of ranks would leave a rank without groups where those that are dropped happen to be its own,
while the others fill the stream up.)

The cursor holds which rank was given what. So a stream that is resumed by as many ranks gives each the same groups
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ray_gym.errors import UserError
from ray_gym.models.versions import Versions
from ray_gym.stream.cursor import Cursor, Progress
from ray_gym.stream.group import FinishedGroup


class RankIsTaken(UserError):
    """Says that another process has joined a stream as the same rank."""


def check_rank(rank: int, world_size: int) -> None:
    """Checks the number of a rank among `world_size` ranks. Errors: UserError for one that is none."""
    if world_size < 1:
        raise UserError(f"world_size: {world_size}, but it is at least 1")
    if not 0 <= rank < world_size:
        raise UserError(f"rank: {rank}, but with a world_size of {world_size} it is from 0 to {world_size - 1}")


@dataclass(slots=True)
class Ranks:
    """Gives each group to one rank, and tracks the progress of all of them together."""

    progress: Progress
    counts: list[int]
    """Number of the groups that each rank was given, by its number; dropped groups don't count."""
    joined: set[int] = field(default_factory=lambda: {0})
    """Ranks that have joined and not left. The first owns the stream."""
    left: Counter[int] = field(default_factory=Counter)
    """Number of times that each rank has left."""
    _rank_of: dict[int, int] = field(default_factory=dict)
    """Rank of each group that was given and neither acknowledged nor dropped, by the group's number."""

    @classmethod
    def at(cls, cursor: Cursor, world_size: int) -> Ranks:
        """Makes the ranks of a trainer that resumes at a cursor.

        Groups that were given among as many ranks go to the same ones. Among others, all groups are given anew.
        """
        progress = Progress.at(cursor)
        if len(cursor.ranks) != world_size:
            return cls(progress, [0] * world_size)
        return cls(progress, list(cursor.ranks), _rank_of={pair[0]: pair[1] for pair in cursor.given})

    # ---- ranks ----

    def join(self, rank: int, world_size: int) -> None:
        """Notes that a rank takes groups from now on.

        Errors: UserError if it counts another number of ranks; RankIsTaken if it has joined already.
        """
        if world_size != len(self.counts):
            raise UserError(
                f"world_size: {world_size} at rank {rank}, but rank 0 has opened the stream for {len(self.counts)}"
            )
        if rank in self.joined:
            raise RankIsTaken(
                f"rank: {rank} has joined the stream already: give each process a rank of its own. If that one has died, "
                "start all ranks again from the last cursor"
            )
        self.joined.add(rank)

    def leave(self, rank: int) -> None:
        """Notes that a rank takes no more groups. It may join again."""
        self.joined.discard(rank)
        self.left[rank] += 1

    # ---- groups ----

    def assign(self, group: FinishedGroup) -> int:
        """Returns the rank that a group is given to. It is decided once, in the order of the calls.

        Groups have to come in the order of their files' commits.
        """
        rank = self._rank_of.get(group.number)
        if rank is None:
            rank = min(range(len(self.counts)), key=self.counts.__getitem__)
            self._rank_of[group.number] = rank
            self.counts[rank] += 1
        if group.number not in self.progress.out:
            self.progress.note_delivered(group.number, group.commit)
        return rank

    def acknowledge(self, number: int) -> None:
        """Notes that the rank that was given a group has acknowledged it."""
        del self._rank_of[number]
        self.progress.acknowledge(number)

    def drop(self, number: int, is_flat: bool) -> None:
        """Notes that a group was dropped. `is_flat`: True if for want of spread."""
        rank = self._rank_of.pop(number, None)
        if rank is not None:
            self.counts[rank] -= 1
        self.progress.out.pop(number, None)
        self.progress.settle([number], [number] if is_flat else [])

    # ---- where they are ----

    def cursor(self, versions: Versions) -> Cursor:
        """Returns the cursor of all ranks. `versions`: those of the weights now."""
        given: Sequence[list[int]] = sorted([number, rank] for number, rank in self._rank_of.items())
        return self.progress.cursor(versions).model_copy(update={"ranks": list(self.counts), "given": given})

    def status(self) -> dict[str, Any]:
        """Returns which ranks have joined, and how many groups each was given."""
        return {"ranks": {"joined": sorted(self.joined), "given": list(self.counts)}}
