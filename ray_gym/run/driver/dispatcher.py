"""Decides which worker plays which episodes. Invariant: every episode is accepted exactly once, even if workers die.

It is a state machine that starts no asyncio tasks and calls no cluster, so it can be tested alone. A group (the
episodes of one task) is pending, then leased to one worker, then accepted with the file that holds its rows. When a
worker is lost, its episodes are pending again, as new attempts that continue from the recorded answers. Rows of an
older attempt that arrive later are refused.

An episode may kill its worker (by a crash, or by its memory). An episode that was lost several times in a row without
progress is a suspect: it is played last, alone on a worker, and charged if that worker dies too. A charged episode
fails without being played again. In a group that is played alone, the episodes that were begun and have never been over
are charged. If all have been over, they are all charged, since the group's scoring or its resumption was the cause.
Progress is what no earlier attempt had: an episode that is over once more before each loss gets no further.

Until an episode has come through, one suspect at a time is tried before the other episodes are begun. If a journal charges
an episode that was played beside others, each worker plays one group at a time until then. So a run in which every episode
ends its worker is known early, and one in which some do is not taken for it, though they end the others with them.

Sessions have rules of their own (see `suspects`): a session that nobody drives makes no progress on any worker, and no
session can have a worker for itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.history import FencedFile, JournaledEpisode
from ray_gym.run.driver.first_tries import is_lost
from ray_gym.run.driver.suspects import SUSPECT_AFTER, SuspectSessions
from ray_gym.run.lease import EpisodeKey, Lease, LeaseGroup

ADVICE = (
    "Its code may have ended the process (os._exit, a signal, a crash in compiled code, memory); a tool that is "
    "declared with @tool(isolated=True) has a process of its own"
)
"""Advice for the author of an episode that kills its workers."""


@dataclass(slots=True)
class _Held:
    lease: Lease
    over: bool = False


@dataclass(slots=True)
class Dispatcher:
    """Holds the state of all episodes of a run."""

    pending: deque[LeaseGroup]
    """Groups that wait for a worker."""
    suspects: deque[LeaseGroup] = field(default_factory=deque)
    """Groups with a suspect, which wait for a worker without any other episode."""
    sessions: SuspectSessions | None = None
    """State of the suspects among sessions; None if the episodes are no sessions."""
    accepted: int = 0
    """Number of episodes that this dispatcher has accepted."""
    source: Callable[[], LeaseGroup | None] | None = None
    """Function that gives one more group, for groups that are not planned beforehand; it returns None when none may
    begin now."""
    _held: dict[str, dict[str, _Held]] = field(default_factory=dict)
    """Leases that are not accepted, by worker and by episode id."""
    _strikes: dict[str, int] = field(default_factory=dict)
    """Attempts in a row that were lost without progress, by episode id."""
    _ended: set[str] = field(default_factory=set)
    """Ids of episodes that were over in an earlier attempt, and not accepted. They can be played to their end."""
    _begun: dict[str, int] = field(default_factory=dict)
    """Numbers of the groups that were begun before one came through, in their order, by id."""
    _is_charged_beside: bool = False
    """True if a journal charged an episode, which may have been played beside others."""
    _has_come_through: bool = False
    """True if an episode was accepted that is not charged."""

    @staticmethod
    def of(specs: Iterable[EpisodeSpec], begun: Mapping[str, Lease] | None = None) -> Dispatcher:
        """Makes the dispatcher of planned episodes, grouped by `group_id`. `begun` holds the leases that an earlier
        driver left, by episode id; None stands for none.
        """
        leases = [(begun or {}).get(spec.episode_id, Lease(spec)) for spec in specs]
        return Dispatcher(deque(_group(leases)))

    def add(self, spec: EpisodeSpec) -> None:
        """Adds an episode, as a group of its own, after the pending groups."""
        self.pending.append((Lease(spec),))

    def holder_of(self, episode_id: str) -> str | None:
        """Returns the name of the worker to which an episode is leased; None if it is not leased, or already
        accepted.
        """
        return next((worker for worker, held in self._held.items() if episode_id in held), None)

    @property
    def waiting(self) -> int:
        """Returns the number of episodes that are pending, suspects included. Episodes that `source` may give later are
        not counted.
        """
        return sum(len(group) for group in (*self.pending, *self.suspects))

    @property
    def done(self) -> bool:
        """Says whether no episode is pending or leased. `source` is not asked for more."""
        return not self.pending and not self.suspects and not any(self._held.values())

    @property
    def in_flight(self) -> int:
        """Returns the number of episodes that are leased and not over."""
        return sum(not held.over for leases in self._held.values() for held in leases.values())

    @property
    def awaiting_commit(self) -> int:
        """Returns the number of episodes that are over and not accepted. Their rows are at a worker."""
        return sum(held.over for leases in self._held.values() for held in leases.values())

    def holds(self, worker: str) -> bool:
        """Says whether the worker has a lease that is not accepted."""
        return bool(self._held.get(worker))

    def leases_of(self, worker: str) -> list[str]:
        """Returns the ids of the episodes that are leased to the worker and not accepted."""
        return list(self._held.get(worker, ()))

    def attempts_of(self, worker: str) -> list[EpisodeKey]:
        """Returns the id and the attempt of each episode that is leased to the worker and not accepted."""
        return [held.lease.key for held in self._held.get(worker, {}).values()]

    def all_over(self, worker: str) -> bool:
        """Says whether all episodes that the worker holds are over, so that only their rows are missing. False if it
        holds none.
        """
        return self.holds(worker) and all(held.over for held in self._held[worker].values())

    def plays_alone(self, worker: str) -> bool:
        """Says whether the worker holds a group that is played with no other beside it."""
        return any(one.lease.alone for one in self._held.get(worker, {}).values())

    @property
    def is_probing(self) -> bool:
        """Says whether each worker plays one group at a time: a journal charged an episode, and none has come through."""
        return self._is_charged_beside and not self._has_come_through and self.sessions is None

    def lease(self, worker: str, room: int) -> list[LeaseGroup]:
        """Leases waiting groups to the worker until at least `room` of its episodes are leased and not over, or no
        group is left, and returns the new groups. Only whole groups are leased, so the last one may exceed `room`.

        While `is_probing`, a worker gets one group at a time, in the order in which they were begun first. A group of
        suspects is leased only to a worker that holds nothing, when no other group is waiting or none has come through. A
        worker with such a group gets no other one.
        """
        held = self._held.setdefault(worker, {})
        if self.plays_alone(worker):
            return []
        if not held and self._is_sifting:
            taken = [self._next_alone()]
        else:
            taken = self._next_groups((1 if self.is_probing else room) - sum(not one.over for one in held.values()))
        if not taken and not held and self.suspects:
            taken.append(self.suspects.popleft())
        if not self._has_come_through:
            for group in taken:
                self._begun.setdefault(group[0].spec.group_id, len(self._begun))
        held.update((lease.spec.episode_id, _Held(lease)) for group in taken for lease in group)
        return taken

    @property
    def _is_sifting(self) -> bool:
        """Says whether a suspect is to be tried now: no episode has come through, and none is tried already."""
        return bool(self.suspects) and not self._has_come_through and not any(map(self.plays_alone, self._held))

    def _next_alone(self) -> LeaseGroup:
        """Takes the group that is played alone while no episode has come through: a charged one, so that its row is
        committed; else a suspect, from both ends in turn, because neighbours are often alike.
        """
        if self.pending and any(lease.charged for lease in self.pending[0]):
            return tuple(replace(lease, alone=True) for lease in self.pending.popleft())
        group = self.suspects.popleft()
        self.suspects.reverse()
        return group

    def _next_groups(self, room: int) -> list[LeaseGroup]:
        taken: list[LeaseGroup] = []
        while room > 0 and (group := self._next()) is not None:
            taken.append(group)
            room -= len(group)
        return taken

    def _next(self) -> LeaseGroup | None:
        if not self.pending:
            return self.source() if self.source is not None else None
        at = self._place_of_probe() if self.is_probing else 0
        group = self.pending[at]
        del self.pending[at]
        return group

    def _place_of_probe(self) -> int:
        """Returns the place of the pending group that is played next while others are tried: of those that were begun, which
        are in front, the one that was begun first, unless enough of its samples were charged, but not all; else one that
        was not begun.
        """
        begun = list(takewhile(lambda group: group[0].spec.group_id in self._begun, self.pending))
        places = [at for at, group in enumerate(begun) if not _is_lost_in_part(group)]
        if not places and len(begun) < len(self.pending):
            return len(begun)
        return min(places or range(len(begun)), key=lambda at: self._begun[begun[at][0].spec.group_id])

    def mark_over(self, worker: str, episodes: Iterable[EpisodeKey]) -> list[EpisodeKey]:
        """Marks episodes of the worker as over. Returns those that were marked now; attempts that the worker does not
        hold are ignored. The rows are still at the worker.
        """
        leases = self._held.get(worker, {})
        counted = []
        for played in episodes:
            held = leases.get(played.episode_id)
            if held is not None and held.lease.key == played and not held.over:
                held.over = True
                counted.append(played)
        return counted

    def accept(self, worker: str, episodes: Iterable[EpisodeKey], failed: Collection[str] = ()) -> bool:
        """Accepts all rows of a file, or none. Returns False, and changes nothing, if an attempt occurs twice or is not
        leased to the worker; else True: the file may be committed. `failed`: ids of those that the environment's own code
        failed, which have not come through.
        """
        leases = self._held.get(worker, {})
        rows = list(episodes)
        if len(set(rows)) < len(rows):
            return False
        for played in rows:
            held = leases.get(played.episode_id)
            if held is None or held.lease.key != played:
                return False
        for played in rows:
            self._has_come_through |= (
                leases[played.episode_id].lease.charged is None and played.episode_id not in failed
            )
            del leases[played.episode_id]
            self._strikes.pop(played.episode_id, None)
            self._ended.discard(played.episode_id)
            if self.sessions is not None:
                self.sessions.forget(played.episode_id)
        self.accepted += len(rows)
        return True

    def shows_progress(self, journal: FencedFile) -> bool:
        """Says whether a lost worker's journal shows progress: an answered call, a command, a survived step, an episode
        that is over for the first time, or the one that is charged with the loss. Has to be called before `lose`.
        """
        return any(
            found.calls or found.survived or found.charged or (found.over and episode not in self._ended)
            for episode, found in journal.episodes.items()
        )

    def lose(
        self, worker: str, journal: FencedFile | None = None, reason: str = "", is_placed: bool = False
    ) -> list[Lease]:
        """Makes the leased episodes of a lost worker wait again as new attempts. Returns those that are charged now.

        `journal`: the worker's fenced journal, from which the new attempts continue; None if it made none: then they
        continue from the journals of earlier attempts, if there are any. `reason` says how the worker died, for the
        episodes that are charged with it. `is_placed`: True if it is known where code of an episode held the
        interpreter's lock, or crashed. Then all that were under way are suspects at once: the next loss tells which it is.
        """
        held = list(self._held.pop(worker, {}).values())
        strikes = [self._strikes_after(one, journal, is_placed) for one in held]
        self._ended.update(one.lease.spec.episode_id for one in held if _was_over(one, journal))
        charges = self._charges(held, journal, reason, is_placed)
        renewed = [
            self._renew(one, journal, charges.get(one.lease.spec.episode_id), count)
            for one, count in zip(held, strikes, strict=True)
        ]
        groups = _group(renewed)
        suspect = [group for group in groups if any(lease.alone for lease in group)]
        self.pending.extendleft(reversed([group for group in groups if group not in suspect]))
        self.suspects.extend(tuple(replace(lease, alone=True) for lease in group) for group in suspect)
        self._is_charged_beside |= any(found.charged for found in journal.episodes.values()) if journal else False
        return [now for now, one in zip(renewed, held, strict=True) if now.charged and not one.lease.charged]

    def _strikes_after(self, held: _Held, journal: FencedFile | None, is_placed: bool) -> int:
        """Returns how many attempts in a row of an episode are lost without progress, this one included; 0 if it made
        some: it recorded a call or a command, or it was over for the first time. If code held the interpreter's lock
        or crashed, only an episode that was over had no part in it, and others have `SUSPECT_AFTER`.

        The scoring of a group is no progress, since it is not recorded, and may have killed the worker.
        """
        episode_id, found = held.lease.spec.episode_id, _in_journal(held, journal)
        is_over = _was_over(held, journal) and not (found and found.scoring)
        if is_placed:
            return 0 if is_over else SUSPECT_AFTER
        got_further = (is_over and episode_id not in self._ended) or bool(found and found.calls)
        return 0 if got_further else self._strikes.get(episode_id, 0) + 1

    def _charges(self, held: list[_Held], journal: FencedFile | None, reason: str, is_placed: bool) -> dict[str, str]:
        """Returns the episodes that are charged with the worker's death, as reasons by episode id."""
        if self.sessions is not None:
            there = (
                (one.lease.spec.episode_id, _in_journal(one, journal)) for one in held if one.lease.charged is None
            )
            return self.sessions.count_deaths({session: found for session, found in there if found is not None}, reason)
        advice = "" if is_placed else f". {ADVICE}"
        why = f"its worker died while it was the only episode there: {reason.removesuffix('.')}{advice}"
        return dict.fromkeys(self._episodes_to_blame(held, journal), why)

    def _episodes_to_blame(self, held: list[_Held], journal: FencedFile | None) -> set[str]:
        """Returns the ids of the episodes that are to be charged: those that were played alone on the worker, and were
        not over.

        Episodes that the journal does not have were not begun, and are left out. If all were over, or the group was
        being scored, all are returned.
        """
        alone = {one.lease.spec.episode_id for one in held if one.lease.alone and one.lease.charged is None}
        if journal is None:
            return alone - self._ended or alone
        begun = alone & journal.episodes.keys()
        if any(journal.episodes[episode].scoring for episode in begun):
            return begun
        return begun - self._ended or begun

    def _renew(self, held: _Held, journal: FencedFile | None, charge: str | None, strikes: int) -> Lease:
        """Returns the lease of an episode's next attempt. `charge`: reason for which it is charged with the loss, unless
        it made progress. `strikes`: as `_strikes_after` returns them.
        """
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
        self._strikes[lease.spec.episode_id] = strikes
        if not strikes:
            return replace(again, alone=False, charged=charged)
        charged = charged or charge
        alone = strikes >= SUSPECT_AFTER and charged is None
        return replace(again, charged=charged, alone=alone)


def _in_journal(held: _Held, journal: FencedFile | None) -> JournaledEpisode | None:
    return journal.episodes.get(held.lease.spec.episode_id) if journal else None


def _is_lost_in_part(group: LeaseGroup) -> bool:
    charged = sum(one.charged is not None for one in group)
    return charged < len(group) and is_lost(charged, len(group))


def _was_over(held: _Held, journal: FencedFile | None) -> bool:
    found = _in_journal(held, journal)
    return found.over if found else held.over


def _group(leases: Iterable[Lease]) -> list[LeaseGroup]:
    groups: dict[str, list[Lease]] = {}
    for lease in leases:
        groups.setdefault(lease.spec.group_id, []).append(lease)
    return [tuple(group) for group in groups.values()]
