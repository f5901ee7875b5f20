"""Decides which session workers die of. A pure state machine, like the dispatcher, which asks it.

A session at rest is never to blame, however often its worker dies. A session that was carrying out a step may be, and
so may all others that were. A session that was so SUSPECT_AFTER times in a row, in the same step, is charged if it was
the only one the last time; else it is a suspect: workers resume one suspect at a time, so that it is soon the only
one. A suspect that never is the only one, because others are busy all the time, is charged after as many deaths again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ray_gym.journal.history import JournaledEpisode
from ray_gym.journal.records import SETUP

SUSPECT_AFTER = 3
"""Number of attempts lost in a row without progress that make a suspect."""


@dataclass(slots=True)
class SuspectSessions:
    _deaths: dict[str, Counter[int]] = field(default_factory=dict)
    """Deaths in a row, by session and by step that was being carried out. A step that was completed since is removed.
    """
    charged: int = 0
    """Number of sessions charged so far."""

    def count_deaths(self, sessions: Mapping[str, JournaledEpisode], reason: str) -> dict[str, str]:
        """Takes note of a worker's death and of what its journal says of its sessions. Returns the sessions charged
        with it now, and why.
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
        self.charged += len(charged)
        return charged

    def has(self, session: str) -> bool:
        return max(self._deaths.get(session, {}).values(), default=0) >= SUSPECT_AFTER

    def forget(self, session: str) -> None:
        self._deaths.pop(session, None)

    def _forget_survived(self, session: str, found: JournaledEpisode) -> None:
        if found.over:
            self.forget(session)
        elif (deaths := self._deaths.get(session)) is not None:
            for step in found.survived:
                deaths.pop(step, None)


def _name_step(step: int) -> str:
    return "its setup" if step == SETUP else f"its command {step + 1}"
