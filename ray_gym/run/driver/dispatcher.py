"""Decides which worker plays which episodes. Invariant: every episode is accepted exactly once, whatever dies.

A pure state machine that owns no tasks and no clock, so it is tested without a cluster. A group of episodes is pending,
then leased to one worker, then accepted with the file that holds its rows. Losing a worker makes its episodes pending
again, as new attempts that go on from what was recorded; rows that an older attempt still delivers are refused.

A worker may die of an episode (a crash, its memory). An episode that was lost several times in a row without getting
any further is a suspect: it is played last, alone on a worker, and if that worker dies too, the episode is charged with
it. Of a group that is played alone, the episodes are charged that were begun and have never been over; if all have been
over, the group's scoring was the cause, or resuming it was.

Sessions are judged otherwise (see `suspects`): a session that nobody drives gets no further on any worker, and none can
have a worker for itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.history import FencedFile, JournaledEpisode
from ray_gym.run.driver.lease import EpisodeKey, Lease, LeaseGroup
from ray_gym.run.driver.suspects import SUSPECT_AFTER, SuspectSessions


@dataclass(slots=True)
class _Held:
    lease: Lease
    over: bool = False


@dataclass(slots=True)
class Dispatcher:
    pending: deque[LeaseGroup]
    suspects: deque[LeaseGroup] = field(default_factory=deque)
    sessions: SuspectSessions | None = None
    """State of the suspects among sessions; set if the episodes are sessions."""
    accepted: int = 0
    source: Callable[[], LeaseGroup | None] | None = None
    """Source of groups that are not planned beforehand, one by one; it gives None when none may begin now."""
    _held: dict[str, dict[str, _Held]] = field(default_factory=dict)
    _strikes: dict[str, int] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    """Ids of episodes that were not accepted, but over in some attempt before: these can be played to their end."""

    @staticmethod
    def of(specs: Iterable[EpisodeSpec], begun: Mapping[str, Lease] | None = None) -> Dispatcher:
        """Makes the dispatcher of planned episodes. `begun` holds the leases of episodes that an earlier driver had
        under way.
        """
        leases = [(begun or {}).get(spec.episode_id, Lease(spec)) for spec in specs]
        return Dispatcher(deque(_group(leases)))

    def add(self, spec: EpisodeSpec) -> None:
        """Adds one more episode, as a group of its own."""
        self.pending.append((Lease(spec),))

    def holder_of(self, episode_id: str) -> str | None:
        """Returns the worker that an episode is leased to now; None if there is none."""
        return next((worker for worker, held in self._held.items() if episode_id in held), None)

    @property
    def waiting(self) -> int:
        """Counts the episodes that no worker has yet."""
        return sum(len(group) for group in (*self.pending, *self.suspects))

    @property
    def done(self) -> bool:
        return not self.pending and not self.suspects and not any(self._held.values())

    @property
    def in_flight(self) -> int:
        """Counts the episodes that are leased and not yet over."""
        return sum(not held.over for leases in self._held.values() for held in leases.values())

    @property
    def awaiting_commit(self) -> int:
        """Counts the episodes that are over, with rows that are still at a worker."""
        return sum(held.over for leases in self._held.values() for held in leases.values())

    def holds(self, worker: str) -> bool:
        """Says whether anything leased to the worker is not accepted yet."""
        return bool(self._held.get(worker))

    def leases_of(self, worker: str) -> list[str]:
        """Returns the ids of the episodes that are leased to the worker and not accepted yet."""
        return list(self._held.get(worker, ()))

    def attempts_of(self, worker: str) -> list[EpisodeKey]:
        """Returns the episodes of `leases_of`, each with its attempt."""
        return [held.lease.key for held in self._held.get(worker, {}).values()]

    def all_over(self, worker: str) -> bool:
        """Says whether the worker has played all that it holds, so that only its rows are missing."""
        return self.holds(worker) and all(held.over for held in self._held[worker].values())

    def lease(self, worker: str, room: int) -> list[LeaseGroup]:
        """Leases groups to the worker, for about `room` episodes, less those that it is still playing."""
        held = self._held.setdefault(worker, {})
        if any(one.lease.alone for one in held.values()):
            return []
        room -= sum(not one.over for one in held.values())
        taken: list[LeaseGroup] = []
        while room > 0 and (group := self._next()) is not None:
            taken.append(group)
            room -= len(group)
        if not taken and not held and self.suspects:
            taken.append(self.suspects.popleft())
        held.update((lease.spec.episode_id, _Held(lease)) for group in taken for lease in group)
        return taken

    def _next(self) -> LeaseGroup | None:
        if self.pending:
            return self.pending.popleft()
        return self.source() if self.source is not None else None

    def mark_over(self, worker: str, episodes: Iterable[EpisodeKey]) -> list[EpisodeKey]:
        """Takes note that the worker has played these episodes; their rows are still with it. Returns those that
        counted.
        """
        leases = self._held.get(worker, {})
        counted = []
        for played in episodes:
            held = leases.get(played.episode_id)
            if held is not None and held.lease.key == played and not held.over:
                held.over = True
                counted.append(played)
        return counted

    def accept(self, worker: str, episodes: Iterable[EpisodeKey]) -> bool:
        """Says whether a file with these rows may be committed, all of them or none, and if so marks them accepted."""
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
            if self.sessions is not None:
                self.sessions.forget(played.episode_id)
        self.accepted += len(rows)
        return True

    def lose(self, worker: str, journal: FencedFile | None = None, reason: str = "") -> int:
        """Takes note that the worker is gone: its episodes are leased anew, from what its journal says. Returns their
        number.
        """
        held = list(self._held.pop(worker, {}).values())
        self._ended.update(one.lease.spec.episode_id for one in held if _was_over(one, journal))
        charges = self._charges(held, journal, reason)
        groups = _group(self._renew(one, journal, charges.get(one.lease.spec.episode_id)) for one in held)
        suspect = [group for group in groups if any(lease.alone for lease in group)]
        self.pending.extendleft(reversed([group for group in groups if group not in suspect]))
        self.suspects.extend(tuple(replace(lease, alone=True) for lease in group) for group in suspect)
        return len(held)

    def _charges(self, held: list[_Held], journal: FencedFile | None, reason: str) -> dict[str, str]:
        """Returns the episodes that are charged with the worker's end, by id, and why."""
        if self.sessions is not None:
            there = (
                (one.lease.spec.episode_id, _in_journal(one, journal)) for one in held if one.lease.charged is None
            )
            return self.sessions.count_deaths({session: found for session, found in there if found is not None}, reason)
        why = f"its worker died while it was the only episode there: {reason}"
        return dict.fromkeys(self._episodes_to_blame(held, journal), why)

    def _episodes_to_blame(self, held: list[_Held], journal: FencedFile | None) -> set[str]:
        """Returns the episodes, of those that were alone on the worker that died, that may have been the cause."""
        alone = {one.lease.spec.episode_id for one in held if one.lease.alone and one.lease.charged is None}
        if journal is None:
            return alone - self._ended or alone
        begun = alone & journal.episodes.keys()
        if any(journal.episodes[episode].scoring for episode in begun):
            return begun
        return begun - self._ended or begun

    def _renew(self, held: _Held, journal: FencedFile | None, charge: str | None) -> Lease:
        lease = held.lease
        found = _in_journal(held, journal)
        again = replace(lease, spec=replace(lease.spec, attempt=lease.spec.attempt + 1))
        if journal and not found:
            return again  # it waited at the worker, and was not begun
        if journal:
            again = replace(again, adopted=(*lease.adopted, journal.name))
        charged = lease.charged or (found.charged if found else None)
        if self.sessions is not None:
            return replace(again, charged=charged or charge, suspect=self.sessions.has(lease.spec.episode_id))
        if found.got_further if found else held.over:
            self._strikes.pop(lease.spec.episode_id, None)
            return replace(again, alone=False, charged=charged)
        charged = charged or charge
        strikes = self._strikes[lease.spec.episode_id] = self._strikes.get(lease.spec.episode_id, 0) + 1
        alone = strikes >= SUSPECT_AFTER and charged is None
        return replace(again, charged=charged, alone=alone)


def _in_journal(held: _Held, journal: FencedFile | None) -> JournaledEpisode | None:
    return journal.episodes.get(held.lease.spec.episode_id) if journal else None


def _was_over(held: _Held, journal: FencedFile | None) -> bool:
    found = _in_journal(held, journal)
    return found.over if found else held.over


def _group(leases: Iterable[Lease]) -> list[LeaseGroup]:
    groups: dict[str, list[Lease]] = {}
    for lease in leases:
        groups.setdefault(lease.spec.group_id, []).append(lease)
    return [tuple(group) for group in groups.values()]
