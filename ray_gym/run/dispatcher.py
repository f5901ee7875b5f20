"""Who plays what. Invariant: every episode is accepted exactly once, whatever dies.

A pure state machine that owns no tasks and no clock, so it is tested without a cluster. An episode is pending, then
leased to one worker, then accepted with the file that holds its row. Losing a worker makes what it had pending again, as a
new attempt; whatever an older attempt still delivers is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ray_gym.episode import EpisodeSpec


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """An episode as workers name it: which, and in which attempt."""

    episode_id: str
    attempt: int


@dataclass(slots=True)
class _Lease:
    spec: EpisodeSpec
    over: bool = False


@dataclass(slots=True)
class Dispatcher:
    pending: deque[EpisodeSpec]
    accepted: int = 0
    _leases: dict[str, dict[str, _Lease]] = field(default_factory=dict)

    @staticmethod
    def of(specs: Iterable[EpisodeSpec]) -> Dispatcher:
        return Dispatcher(deque(specs))

    @property
    def done(self) -> bool:
        return not self.pending and not any(self._leases.values())

    @property
    def in_flight(self) -> int:
        """Leased and not yet over."""
        return sum(not lease.over for leases in self._leases.values() for lease in leases.values())

    def holds(self, worker: str) -> bool:
        """Whether anything leased to the worker is not accepted yet."""
        return bool(self._leases.get(worker))

    def all_over(self, worker: str) -> bool:
        """Whether the worker has played all that it holds, so that only its rows are missing."""
        return self.holds(worker) and all(lease.over for lease in self._leases[worker].values())

    def lease(self, worker: str, room: int) -> list[EpisodeSpec]:
        """Up to `room` episodes, less those that the worker is still playing."""
        leases = self._leases.setdefault(worker, {})
        room -= sum(not lease.over for lease in leases.values())
        taken = [self.pending.popleft() for _ in range(min(room, len(self.pending)))]
        leases.update((spec.episode_id, _Lease(spec)) for spec in taken)
        return taken

    def over(self, worker: str, episodes: Iterable[EpisodeKey]) -> int:
        """The worker has played these; their rows are still with it. Returns how many of them counted."""
        leases = self._leases.get(worker, {})
        counted = 0
        for played in episodes:
            lease = leases.get(played.episode_id)
            if lease is not None and lease.spec.attempt == played.attempt and not lease.over:
                lease.over = True
                counted += 1
        return counted

    def accept(self, worker: str, episodes: Iterable[EpisodeKey]) -> bool:
        """Whether a file with these rows may be committed: all of them, or none."""
        leases = self._leases.get(worker, {})
        rows = list(episodes)
        ids = {played.episode_id for played in rows}
        if len(ids) < len(rows):
            return False
        for played in rows:
            lease = leases.get(played.episode_id)
            if lease is None or lease.spec.attempt != played.attempt:
                return False
        for episode_id in ids:
            del leases[episode_id]
        self.accepted += len(ids)
        return True

    def lost(self, worker: str) -> int:
        """The worker is gone: what it had goes to the front of the queue as new attempts. Returns how many."""
        leases = self._leases.pop(worker, {})
        again = [replace(lease.spec, attempt=lease.spec.attempt + 1) for lease in leases.values()]
        self.pending.extendleft(reversed(again))
        return len(again)
