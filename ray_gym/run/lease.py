"""Defines a lease, which gives an episode to a worker."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ray_gym.episode.spec import EpisodeSpec


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """Names one attempt at an episode. Each worker that begins or continues an episode makes a new attempt at it."""

    episode_id: str
    attempt: int


def ids_of(episode: EpisodeKey) -> dict[str, str | int]:
    """Returns the fields `episode` (id) and `attempt`, by which log lines name an attempt at an episode."""
    return {"episode": episode.episode_id, "attempt": episode.attempt}


@dataclass(frozen=True, slots=True)
class Lease:
    """Gives one attempt at an episode to a worker."""

    spec: EpisodeSpec
    """Specification of the episode. `spec.attempt` is the fencing number: only the newest attempt counts."""
    adopted: tuple[str, ...] = ()
    """Names of the fenced journals with the records of older attempts, the oldest first."""
    charged: str | None = None
    """Reason for which the episode fails without being played, because it killed its worker; None if it may be
    played."""
    alone: bool = False
    """True if the episode may have killed a worker. Then it is played with no other beside it."""
    suspect: bool = False
    """True if the session may have killed a worker. Then a worker resumes it beside other sessions, but not beside
    another suspect."""
    queued_at: float = field(default_factory=time.time, compare=False)
    """Unix time in seconds since which the episode has waited to be leased by this driver for the first time."""

    @property
    def key(self) -> EpisodeKey:
        """Returns the episode's id and attempt."""
        return EpisodeKey(self.spec.episode_id, self.spec.attempt)


LeaseGroup = tuple[Lease, ...]
"""Leases of the episodes of one task. One worker plays them all, and one file commits their rows."""
