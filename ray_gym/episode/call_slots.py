"""Limits how many calls of a participant are under way at once in one worker, over all its episodes.

The limit is `participants.NAME.concurrency` of the config.
"""

from __future__ import annotations

import asyncio

from ray_gym.episode.participant import Participant


class CallSlots:
    """Holds a semaphore for each participant of one worker that has a limit.

    Calls that wait are served in their order.
    """

    def __init__(self) -> None:
        self._slots: dict[str, asyncio.Semaphore] = {}

    def of(self, participant: Participant) -> asyncio.Semaphore | None:
        """Returns the participant's semaphore; None if its calls are not limited."""
        if participant.concurrency is None:
            return None
        if participant.name not in self._slots:
            self._slots[participant.name] = asyncio.Semaphore(participant.concurrency)
        return self._slots[participant.name]
