"""Defines a lease: an episode that a worker is given to play."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ray_gym.episode.spec import EpisodeSpec


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """Names one attempt at an episode, between driver and workers."""

    episode_id: str
    attempt: int


def ids_of(episode: EpisodeKey) -> dict[str, str | int]:
    """Returns the fields that a log line about the episode carries."""
    return {"episode": episode.episode_id, "attempt": episode.attempt}


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease is one attempt at an episode. `spec.attempt` is its fencing number: only the newest counts.

    `adopted` names the fenced journal files that hold what older attempts recorded. `charged` says why the episode is
    not to be played any more: it brought its worker down. `alone` means that it may have done so, and is played with no
    other beside it. `suspect` means the same of a session, with which a worker goes on beside others, but not beside
    another suspect.
    """

    spec: EpisodeSpec
    adopted: tuple[str, ...] = ()
    charged: str | None = None
    alone: bool = False
    suspect: bool = False
    queued_at: float = field(default_factory=time.time, compare=False)
    """Unix time (seconds) at which the episode could be leased for the first time."""

    @property
    def key(self) -> EpisodeKey:
        return EpisodeKey(self.spec.episode_id, self.spec.attempt)


LeaseGroup = tuple[Lease, ...]
"""A group has the episodes of one task, which stay together: one worker plays them, and their rows are committed by one
file."""
