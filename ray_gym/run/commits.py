"""What workers report, turned into a table of episodes: counted, committed whole files, or refused whole ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ray_gym.run.directory import RunDirectory
from ray_gym.run.dispatcher import Dispatcher
from ray_gym.run.fences import Fences
from ray_gym.run.receipt import Receipt
from ray_gym.run.tally import Tally
from ray_gym.run.worker import Report

Notify = Callable[[Tally, int], None]
"""Told of progress: the tally and how many episodes are in flight."""
OnCommitted = Callable[[Sequence[str]], Awaitable[None]]
"""Told which episodes are part of the run from now on."""


@dataclass(slots=True)
class Commits:
    directory: RunDirectory
    dispatcher: Dispatcher
    fences: Fences
    tally: Tally
    notify: Notify
    _uncommitted: dict[str, dict[str, Receipt]] = field(default_factory=dict)
    _told: dict[str, list[str]] = field(default_factory=dict)
    on_committed: OnCommitted | None = None
    _useful: set[str] = field(default_factory=set)
    """Workers of which a file was committed."""

    async def take(self, worker: str, report: Report) -> None:
        """Errors: RunFailed when another driver has taken the run directory over; OSError."""
        uncommitted = self._uncommitted.setdefault(worker, {})
        self.dispatcher.over(worker, report.over)
        for receipt in report.finished:
            self.tally.add(receipt)
            uncommitted[receipt.episode.episode_id] = receipt
        for staged in report.staged:
            if not self.dispatcher.accept(worker, staged.episodes):
                self.tally.refused_files += 1
                await asyncio.to_thread(self.directory.refuse, staged.name)
                continue
            await asyncio.to_thread(self.directory.commit, staged.name)
            self._useful.add(worker)
            ids = [episode.episode_id for episode in staged.episodes]
            self.tally.nodes.committed(worker, len(ids))
            for episode_id in ids:
                uncommitted.pop(episode_id, None)
            self._told.setdefault(worker, []).extend(ids)
            await asyncio.to_thread(self.fences.committed, ids)
            if self.on_committed is not None:
                await self.on_committed(ids)
        self.notify(self.tally, self.dispatcher.in_flight)

    def news_for(self, worker: str) -> list[str]:
        """Episodes that were committed since the worker was last told."""
        return self._told.pop(worker, [])

    async def lose(self, worker: str, reason: str) -> bool:
        """The worker is gone, and with it the rows that it had not staged: they are not counted any more, but played on elsewhere.

        Returns whether it had got anything done.
        """
        journal = await asyncio.to_thread(self.fences.lost, worker, self.dispatcher.held_by(worker))
        self.dispatcher.lost(worker, journal, reason)
        for receipt in self._uncommitted.pop(worker, {}).values():
            self.tally.add(receipt, sign=-1)
        self._told.pop(worker, None)
        self.tally.workers_lost += 1
        found = journal.episodes.values() if journal else ()
        if worker in self._useful:
            self._useful.discard(worker)
            return True
        return any(episode.calls or episode.over or episode.charged for episode in found)
