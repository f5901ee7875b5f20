"""Collects the results of a group while some of its episodes are still being played.

A group may have more episodes than it needs (`groups.extra`). Then the first ones that complete make the group, and the
rest are its surplus: they are cut off, and become rows that don't train. Short episodes are favoured by that, so every
surplus row stays in the table.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ray_gym.episode.episode import Episode
from ray_gym.play.play import Played
from ray_gym.run.lease import EpisodeKey
from ray_gym.stop import Stop, StopReason

SURPLUS = "its group was complete before it ended"


@dataclass(slots=True, eq=False)
class Gathering:
    """Holds the results of a group, and the tasks that play its other episodes."""

    size: int
    """Number of the group's episodes, those beyond what it needs included."""
    extra: int = 0
    """Number of the episodes beyond what the group needs."""
    played: list[Played] = field(default_factory=list)
    playing: dict[EpisodeKey, asyncio.Task[None]] = field(default_factory=dict)
    """Tasks that play its episodes, by the attempt."""
    cut: dict[EpisodeKey, Episode | None] = field(default_factory=dict)
    """Episodes that are being cut off, by the attempt; None for one that has no state yet."""

    @property
    def needed(self) -> int:
        """Returns the number of completed episodes that make the group."""
        return self.size - self.extra

    @property
    def is_complete(self) -> bool:
        """Says whether enough episodes are completed. Without `extra` it is never asked for more than all of them."""
        return self.extra > 0 and sum(one.status == "completed" for one in self.played) >= self.needed

    def add(self, one: Played) -> None:
        """Adds a result. A completed one that comes when the group is complete is surplus, too."""
        self.played.append(mark_surplus(one) if self.is_complete and one.status == "completed" else one)


def mark_surplus(one: Played) -> Played:
    """Returns the result of an episode as one that is no part of its group: cancelled, without a score."""
    return Played(one.episode, "cancelled", None, one.failure, causes=one.causes, active_s=one.active_s)


def cut_off(episode: Episode) -> Played:
    """Returns the result of an episode that was cut off, with what was said until then."""
    if episode.stop is None:
        episode.stop = Stop(StopReason.SURPLUS, SURPLUS)
    return Played(episode, "cancelled", None, None, active_s=episode.elapsed_s())
