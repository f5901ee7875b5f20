"""Stores rollouts by their ids. It keeps in memory all that are not over, and the newest of those that are.

Older ones are read from their directories when callers ask for them.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ray_gym.service.rollouts.rollout import REQUEST, Rollout, read_rollout

REMEMBERED = 1000
"""Most ended rollouts of each caller that stay in memory."""
_RUN_ID = re.compile(r"[0-9a-f]{32}")


class RolloutStore:
    """A store holds the rollouts of all callers by their ids. Use it on one event loop."""

    def __init__(self, folder: Path, most: int = REMEMBERED) -> None:
        """Takes the folder with the rollouts' directories.

        `most`: greatest number of ended rollouts of each caller that stay in memory.
        """
        self._folder = folder
        self._most = most
        self._rollouts: dict[str, Rollout] = {}
        self._forgotten: Counter[str] = Counter()
        """Number of rollouts that are on disk only, by state."""

    @property
    def in_memory(self) -> Iterable[Rollout]:
        """Returns a live view of the rollouts in memory, among which are all that are not over."""
        return self._rollouts.values()

    def add(self, rollout: Rollout) -> None:
        """Adds a rollout to those in memory."""
        self._rollouts[rollout.id] = rollout

    async def find(self, run_id: str) -> Rollout | None:
        """Finds a rollout in memory or on disk by its id. None means that there is none.

        A rollout that is on disk only is over, and never changes.
        """
        rollout = self._rollouts.get(run_id)
        if rollout is not None or not _RUN_ID.fullmatch(run_id):
            return rollout
        return await asyncio.to_thread(read_rollout, self._folder / run_id) if self._forgotten else None

    def list_of(self, caller: str) -> list[Rollout]:
        """Returns the rollouts of a caller that are in memory."""
        return [rollout for rollout in self._rollouts.values() if rollout.caller == caller]

    def count_states(self) -> Counter[str]:
        """Returns the number of all rollouts, by state."""
        return Counter(rollout.state for rollout in self._rollouts.values()) + self._forgotten

    def forget_old(self, caller: str) -> None:
        """Removes a caller's oldest ended rollouts from memory, so that at most `most` of them stay there.

        Rollouts whose end is not on disk stay in any case, and are not counted.
        """
        over = [one for one in self.list_of(caller) if one.is_on_disk and one.ended_at is not None]
        for rollout in sorted(over, key=lambda one: -one.created_at)[self._most :]:
            del self._rollouts[rollout.id]
            self._forgotten[rollout.state] += 1

    async def recover(self) -> list[Rollout]:
        """Reads the rollouts that an earlier service left into memory, then forgets each caller's oldest ended ones.

        Returns the rollouts that are not over, the oldest first.
        """
        for rollout in await asyncio.to_thread(self._read_all):
            self.add(rollout)
        for caller in {rollout.caller for rollout in self.in_memory}:
            self.forget_old(caller)
        return [rollout for rollout in self.in_memory if not rollout.is_over]

    def _read_all(self) -> list[Rollout]:
        """Reads all rollouts from their directories, and returns them, the oldest first. Blocks.

        Rollouts that can't be read are left out. Directories without the file `request.json` are deleted, since no
        caller knows their ids.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        found = []
        for folder in (path for path in self._folder.iterdir() if _RUN_ID.fullmatch(path.name)):
            if not (folder / REQUEST).exists():
                shutil.rmtree(folder, ignore_errors=True)
            elif (rollout := read_rollout(folder)) is not None:
                found.append(rollout)
        return sorted(found, key=lambda rollout: rollout.created_at)
