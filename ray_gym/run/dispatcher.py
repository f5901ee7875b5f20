"""Who plays what. Invariant: every episode is accepted exactly once, whatever dies.

A pure state machine that owns no tasks and no clock, so it is tested without a cluster. A group of episodes is pending, then
leased to one worker, then accepted with the file that holds its rows. Losing a worker makes what it had pending again, as new
attempts that go on from what was recorded; whatever an older attempt still delivers is refused.

A worker may die of an episode (a crash, its memory). One that was lost several times in a row without getting any further is a
suspect: it is played last, alone on a worker, and if that dies too the episode is charged with it. Of a group that is played alone
those are charged that were begun and have never been over; if all have been, its scoring did it, or going on with it did.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ray_gym.journal.history import FencedFile, Found
from ray_gym.run.lease import EpisodeKey, Group, Lease
from ray_gym.spec import EpisodeSpec

SUSPECT_AFTER = 3
"""Attempts that were lost in a row without progress."""


@dataclass(slots=True)
class _Held:
    lease: Lease
    over: bool = False


@dataclass(slots=True)
class Dispatcher:
    pending: deque[Group]
    suspects: deque[Group] = field(default_factory=deque)
    isolates: bool = True
    """Whether suspects are played alone. Sessions are not: one that nobody drives gets no further on any worker, and waits for no other."""
    accepted: int = 0
    _held: dict[str, dict[str, _Held]] = field(default_factory=dict)
    _strikes: dict[str, int] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    """Not accepted, but over in some attempt before: these can be played to their end."""

    @staticmethod
    def of(specs: Iterable[EpisodeSpec], begun: Mapping[str, Lease] | None = None) -> Dispatcher:
        """`begun` holds the leases of episodes that an earlier driver had under way."""
        leases = [(begun or {}).get(spec.episode_id, Lease(spec)) for spec in specs]
        return Dispatcher(deque(_grouped(leases)))

    def add(self, spec: EpisodeSpec) -> None:
        """One more, a group of its own."""
        self.pending.append((Lease(spec),))

    def holder_of(self, episode_id: str) -> str | None:
        """The worker that it is leased to now."""
        return next((worker for worker, held in self._held.items() if episode_id in held), None)

    @property
    def waiting(self) -> int:
        """Episodes that nobody plays yet."""
        return sum(len(group) for group in (*self.pending, *self.suspects))

    @property
    def done(self) -> bool:
        return not self.pending and not self.suspects and not any(self._held.values())

    @property
    def in_flight(self) -> int:
        """Leased and not yet over."""
        return sum(not held.over for leases in self._held.values() for held in leases.values())

    @property
    def awaiting_commit(self) -> int:
        """Over, with rows that are still at a worker."""
        return sum(held.over for leases in self._held.values() for held in leases.values())

    def holds(self, worker: str) -> bool:
        """Whether anything leased to the worker is not accepted yet."""
        return bool(self._held.get(worker))

    def held_by(self, worker: str) -> list[str]:
        """What is leased to the worker and not accepted yet."""
        return list(self._held.get(worker, ()))

    def leased_to(self, worker: str) -> list[EpisodeKey]:
        """What `held_by` names, by attempt."""
        return [held.lease.key for held in self._held.get(worker, {}).values()]

    def all_over(self, worker: str) -> bool:
        """Whether the worker has played all that it holds, so that only its rows are missing."""
        return self.holds(worker) and all(held.over for held in self._held[worker].values())

    def lease(self, worker: str, room: int) -> list[Group]:
        """Groups for about `room` episodes, less those that the worker is still playing."""
        held = self._held.setdefault(worker, {})
        if any(one.lease.alone for one in held.values()):
            return []
        room -= sum(not one.over for one in held.values())
        taken: list[Group] = []
        while self.pending and room > 0:
            taken.append(self.pending.popleft())
            room -= len(taken[-1])
        if not taken and not held and self.suspects:
            taken.append(self.suspects.popleft())
        held.update((lease.spec.episode_id, _Held(lease)) for group in taken for lease in group)
        return taken

    def over(self, worker: str, episodes: Iterable[EpisodeKey]) -> list[EpisodeKey]:
        """The worker has played these; their rows are still with it. Returns those that counted."""
        leases = self._held.get(worker, {})
        counted = []
        for played in episodes:
            held = leases.get(played.episode_id)
            if held is not None and held.lease.key == played and not held.over:
                held.over = True
                counted.append(played)
        return counted

    def accept(self, worker: str, episodes: Iterable[EpisodeKey]) -> bool:
        """Whether a file with these rows may be committed: all of them, or none."""
        leases = self._held.get(worker, {})
        rows = list(episodes)
        if len(set(rows)) < len(rows):
            return False
        for played in rows:
            held = leases.get(played.episode_id)
            if held is None or held.lease.key != played:
                return False
        for played in rows:
            del leases[played.episode_id]
            self._strikes.pop(played.episode_id, None)
            self._ended.discard(played.episode_id)
        self.accepted += len(rows)
        return True

    def lost(self, worker: str, journal: FencedFile | None = None, reason: str = "") -> int:
        """The worker is gone: what it had is leased anew, from what its journal says. Returns how many episodes that are."""
        held = list(self._held.pop(worker, {}).values())
        self._ended.update(one.lease.spec.episode_id for one in held if _was_over(one, journal))
        blamed = self._blamed(held, journal)
        groups = _grouped(
            self._again(one, journal, reason if one.lease.spec.episode_id in blamed else None) for one in held
        )
        suspect = [group for group in groups if any(lease.alone for lease in group)]
        self.pending.extendleft(reversed([group for group in groups if group not in suspect]))
        self.suspects.extend(tuple(replace(lease, alone=True) for lease in group) for group in suspect)
        return len(held)

    def _blamed(self, held: list[_Held], journal: FencedFile | None) -> set[str]:
        """Of what was alone on a worker that died: who may have been the cause."""
        alone = {one.lease.spec.episode_id for one in held if one.lease.alone and one.lease.charged is None}
        if journal is None:
            return alone - self._ended or alone
        begun = alone & journal.episodes.keys()
        if any(journal.episodes[episode].scoring for episode in begun):
            return begun
        return begun - self._ended or begun

    def _again(self, held: _Held, journal: FencedFile | None, blame: str | None) -> Lease:
        """`blame` is the worker's end, if this one may have been its cause."""
        lease = held.lease
        found = _found(held, journal)
        again = replace(lease, spec=replace(lease.spec, attempt=lease.spec.attempt + 1))
        if journal and not found:
            return again  # it waited at the worker, and was not begun
        if journal:
            again = replace(again, adopted=(*lease.adopted, journal.name))
        charged = lease.charged or (found.charged if found else None)
        if found.got_further if found else held.over:
            self._strikes.pop(lease.spec.episode_id, None)
            return replace(again, alone=False, charged=charged)
        if blame is not None:
            charged = charged or f"its worker died while it was the only episode there: {blame}"
        strikes = self._strikes[lease.spec.episode_id] = self._strikes.get(lease.spec.episode_id, 0) + 1
        alone = self.isolates and strikes >= SUSPECT_AFTER and charged is None
        return replace(again, charged=charged, alone=alone)


def _found(held: _Held, journal: FencedFile | None) -> Found | None:
    return journal.episodes.get(held.lease.spec.episode_id) if journal else None


def _was_over(held: _Held, journal: FencedFile | None) -> bool:
    found = _found(held, journal)
    return found.over if found else held.over


def _grouped(leases: Iterable[Lease]) -> list[Group]:
    groups: dict[str, list[Lease]] = {}
    for lease in leases:
        groups.setdefault(lease.spec.group_id, []).append(lease)
    return [tuple(group) for group in groups.values()]
