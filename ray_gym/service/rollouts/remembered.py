"""Rollouts by their ids: those that are not over, and the newest that are; of older ones the directory is read when they are asked for."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ray_gym.service.rollouts.rollout import REQUEST, Rollout, recovered

REMEMBERED = 1000
"""Of each caller that are over."""
_RUN_ID = re.compile(r"[0-9a-f]{32}")


class Remembered:
    def __init__(self, folder: Path, most: int = REMEMBERED) -> None:
        self._folder = folder
        self._most = most
        self._rollouts: dict[str, Rollout] = {}
        self._forgotten: Counter[str] = Counter()
        """How many of each state are on disk only."""

    def here(self) -> Iterable[Rollout]:
        """In memory: all that are not over."""
        return self._rollouts.values()

    def add(self, rollout: Rollout) -> None:
        self._rollouts[rollout.id] = rollout

    async def find(self, run_id: str) -> Rollout | None:
        """One from disk is not changed by anybody: it is over."""
        rollout = self._rollouts.get(run_id)
        if rollout is not None or not _RUN_ID.fullmatch(run_id):
            return rollout
        return await asyncio.to_thread(recovered, self._folder / run_id) if self._forgotten else None

    def of(self, caller: str) -> list[Rollout]:
        return [rollout for rollout in self._rollouts.values() if rollout.caller == caller]

    def counts(self) -> Counter[str]:
        return Counter(rollout.state for rollout in self._rollouts.values()) + self._forgotten

    def forget_old(self, caller: str) -> None:
        """Of those that are over the newest stay."""
        over = [one for one in self.of(caller) if one.is_on_disk and one.ended_at is not None]
        for rollout in sorted(over, key=lambda one: -one.created_at)[self._most :]:
            del self._rollouts[rollout.id]
            self._forgotten[rollout.state] += 1

    async def recover(self) -> list[Rollout]:
        """Remember what an earlier service left. Gives what is not over, the oldest first."""
        for rollout in await asyncio.to_thread(self._found):
            self.add(rollout)
        for caller in {rollout.caller for rollout in self.here()}:
            self.forget_old(caller)
        return [rollout for rollout in self.here() if not rollout.is_over]

    def _found(self) -> list[Rollout]:
        """What was never promised to anybody is deleted."""
        self._folder.mkdir(parents=True, exist_ok=True)
        found = []
        for folder in (path for path in self._folder.iterdir() if _RUN_ID.fullmatch(path.name)):
            if not (folder / REQUEST).exists():
                shutil.rmtree(folder, ignore_errors=True)
            elif (rollout := recovered(folder)) is not None:
                found.append(rollout)
        return sorted(found, key=lambda rollout: rollout.created_at)
