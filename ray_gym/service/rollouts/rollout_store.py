"""Remembers rollouts by their ids: all that are not over, and the newest that are.

The directories of older ones are read when they are asked for.
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
"""Most rollouts of each caller that are over and stay in memory."""
_RUN_ID = re.compile(r"[0-9a-f]{32}")


class RolloutStore:
    """Remembers rollouts by their ids."""

    def __init__(self, folder: Path, most: int = REMEMBERED) -> None:
        self._folder = folder
        self._most = most
        self._rollouts: dict[str, Rollout] = {}
        self._forgotten: Counter[str] = Counter()
        """Number of rollouts that are on disk only, by state."""

    def here(self) -> Iterable[Rollout]:
        """Returns the rollouts in memory, among which are all that are not over."""
        return self._rollouts.values()

    def add(self, rollout: Rollout) -> None:
        self._rollouts[rollout.id] = rollout

    async def find(self, run_id: str) -> Rollout | None:
        """Finds a rollout in memory or on disk; None if there is none.

        One that is on disk only is over, and never changes.
        """
        rollout = self._rollouts.get(run_id)
        if rollout is not None or not _RUN_ID.fullmatch(run_id):
            return rollout
        return await asyncio.to_thread(read_rollout, self._folder / run_id) if self._forgotten else None

    def of(self, caller: str) -> list[Rollout]:
        return [rollout for rollout in self._rollouts.values() if rollout.caller == caller]

    def counts(self) -> Counter[str]:
        return Counter(rollout.state for rollout in self._rollouts.values()) + self._forgotten

    def forget_old(self, caller: str) -> None:
        """Forgets a caller's oldest rollouts that are over, so that at most REMEMBERED of them stay in memory."""
        over = [one for one in self.of(caller) if one.is_on_disk and one.ended_at is not None]
        for rollout in sorted(over, key=lambda one: -one.created_at)[self._most :]:
            del self._rollouts[rollout.id]
            self._forgotten[rollout.state] += 1

    async def recover(self) -> list[Rollout]:
        """Remembers the rollouts that an earlier service left. Returns those that are not over, the oldest first."""
        for rollout in await asyncio.to_thread(self._read_all):
            self.add(rollout)
        for caller in {rollout.caller for rollout in self.here()}:
            self.forget_old(caller)
        return [rollout for rollout in self.here() if not rollout.is_over]

    def _read_all(self) -> list[Rollout]:
        """Reads all rollouts from their directories. Directories that were never promised to a caller are deleted."""
        self._folder.mkdir(parents=True, exist_ok=True)
        found = []
        for folder in (path for path in self._folder.iterdir() if _RUN_ID.fullmatch(path.name)):
            if not (folder / REQUEST).exists():
                shutil.rmtree(folder, ignore_errors=True)
            elif (rollout := read_rollout(folder)) is not None:
                found.append(rollout)
        return sorted(found, key=lambda rollout: rollout.created_at)
