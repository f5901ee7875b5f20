"""Decides which session killed a worker. The dispatcher calls it; it starts no asyncio tasks and reads no clock.

A step of a session is its setup, or one command. A session at rest is never charged. When a worker dies, every session
that was carrying out a step may have killed it. A session is charged when that happened SUSPECT_AFTER times in a row in
the same step, and it was the only such session the last time. If it was not the only one, it becomes a suspect: workers
resume one suspect at a time, so that it soon is the only one. If other sessions are always busy beside it, it is
charged after twice as many deaths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ray_gym.journal.history import JournaledEpisode
from ray_gym.journal.records import SETUP

SUSPECT_AFTER = 3
"""Number of attempts lost in a row without progress that make an episode a suspect."""


@dataclass(slots=True)
class SuspectSessions:
    """Counts, for each session, the workers that died while it was carrying out a step (its setup, or a command)."""

    _deaths: dict[str, Counter[int]] = field(default_factory=dict)
    """Deaths in a row, by session and by the step that was being carried out. A step that was completed later is
    removed."""

    def count_deaths(self, sessions: Mapping[str, JournaledEpisode], reason: str) -> dict[str, str]:
        """Counts the death of a worker for each of its sessions that was carrying out a step. Returns the sessions that
        are charged with it now, as reasons by session id; none if a journal already charges one of them.

        `sessions` has the worker's sessions by id, as its journal describes them; `reason` says how it died.
        """
        for session, found in sessions.items():
            self._forget_survived(session, found)
        if any(found.charged for found in sessions.values()):
            return {}  # it is known whose doing it was
        trying = {session: found.trying for session, found in sessions.items() if found.trying}
        enough = SUSPECT_AFTER if len(trying) == 1 else 2 * SUSPECT_AFTER
        charged = {}
        for session, steps in trying.items():
            deaths = self._deaths.setdefault(session, Counter())
            deaths.update(steps)
            step = max(steps, key=deaths.__getitem__)
            if (count := deaths[step]) >= enough:
                charged[session] = (
                    f"{count} workers died in a row while {_name_step(step)} was carried out; the last: {reason}"
                )
        return charged

    def has(self, session: str) -> bool:
        """Says whether a session is a suspect: SUSPECT_AFTER workers or more died in a row during one of its steps."""
        return max(self._deaths.get(session, {}).values(), default=0) >= SUSPECT_AFTER

    def forget(self, session: str) -> None:
        """Forgets the deaths of a session that is over."""
        self._deaths.pop(session, None)

    def _forget_survived(self, session: str, found: JournaledEpisode) -> None:
        if found.over:
            self.forget(session)
        elif (deaths := self._deaths.get(session)) is not None:
            for step in found.survived:
                deaths.pop(step, None)


def _name_step(step: int) -> str:
    return "its setup" if step == SETUP else f"its command {step + 1}"
