"""Takes the reports of workers: counts their episodes, and commits or refuses their files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ray_gym.logs import about
from ray_gym.metrics.committing import RunMetrics
from ray_gym.metrics.recorder import Recorder
from ray_gym.printable import cut
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.fences import Fences
from ray_gym.run.driver.grants import Grants
from ray_gym.run.driver.losses import Losses
from ray_gym.run.driver.seldom import Seldom
from ray_gym.run.driver.tally import Tally, is_by_code
from ray_gym.run.lease import EpisodeKey, ids_of
from ray_gym.run.worker.report import Report

logger = logging.getLogger(__name__)

Notify = Callable[[Tally, int], None]
"""Callback for progress, with the tally and the number of episodes in flight."""
OnCommitted = Callable[[Sequence[str], str], Awaitable[None]]
"""Async callback for a commit, with the ids of its episodes and the name of the committed file."""


@dataclass(slots=True)
class Commits:
    """Takes the reports of one run's workers, and notes their deaths: counts episodes, and commits or refuses files of
    rows.
    """

    directory: RunDirectory
    """Directory of the run."""
    dispatcher: Dispatcher
    """State of all episodes, by which files are accepted or refused."""
    fences: Fences
    """Journals of workers that are gone."""
    tally: Tally
    """Counts for the summary."""
    notify: Notify
    """Called after each report."""
    _uncommitted: dict[str, dict[str, Receipt]] = field(default_factory=dict)
    """Receipts of episodes that are finished and not committed, by worker and by id."""
    _told: dict[str, list[str]] = field(default_factory=dict)
    """Ids of committed episodes that their worker has not been told of, by worker."""
    on_committed: OnCommitted | None = None
    """Awaited after each commit; None if nobody needs to know."""
    last_loss: str = ""
    """Reason for which a worker was lost last; empty if none was."""
    last_charge: str = ""
    """Reason of the last charge: what an episode did that ended its worker; empty if there is none."""
    _losses: Losses = field(default_factory=Losses)
    """Tells of the workers that are lost."""
    _warned: Seldom = field(default_factory=Seldom)
    """Decides which warnings of workers are told."""
    _useful: set[str] = field(default_factory=set)
    """Names of the workers that have had a file committed."""
    grants: Grants | None = None
    """Grants of what workers may spend; None if the run's cost has no limit."""
    metrics: RunMetrics = field(default_factory=lambda: RunMetrics(Recorder(), ""))

    async def take(self, worker: str, report: Report) -> None:
        """Takes a report of a worker: logs its warnings, counts its finished episodes, commits or refuses its staged
        files, and deletes journals that nobody needs any more. Calls `notify` once, and `on_committed` after each commit.

        A file is refused, and deleted, if one of its rows belongs to an attempt that does not count. Errors: RunFailed
        if a file can't be committed, or another driver took over; OSError; exceptions of `notify` and `on_committed`.
        """
        if self.grants is not None and report.funds is not None:
            self.grants.take(worker, report.funds)
        for warning in report.warnings:
            self._warn(warning)
        uncommitted = self._uncommitted.setdefault(worker, {})
        self.dispatcher.mark_over(worker, report.over)
        for receipt in report.finished:
            self.tally.add(receipt)
            uncommitted[receipt.episode.episode_id] = receipt
        for staged in report.staged:
            failed = {name for name, receipt in uncommitted.items() if is_by_code(receipt)}
            if not self.dispatcher.accept(worker, staged.episodes, failed):
                self.tally.refused_files += 1
                _log_each(
                    logging.WARNING,
                    staged.episodes,
                    f"a row of an attempt that does not count: {staged.name} is refused",
                )
                await asyncio.to_thread(self.directory.refuse, staged.name)
                continue
            committed = await asyncio.to_thread(self.directory.commit, staged.name)
            _log_each(logging.DEBUG, staged.episodes, f"committed with {staged.name}")
            self._useful.add(worker)
            ids = [episode.episode_id for episode in staged.episodes]
            self.tally.nodes.count_committed(worker, len(ids))
            receipts = [uncommitted.pop(episode_id, None) for episode_id in ids]
            self.metrics.count_committed(receipt for receipt in receipts if receipt is not None)
            self._told.setdefault(worker, []).extend(ids)
            await asyncio.to_thread(self.fences.release, ids)
            if self.on_committed is not None:
                await self.on_committed(ids, committed)
        self.notify(self.tally, self.dispatcher.in_flight)

    def _warn(self, warning: str) -> None:
        """Logs a warning of a worker, unless one like it was logged in the last minute, and keeps it for the summary."""
        warning = cut(warning)
        self.tally.add_warning(warning)
        unsaid = self._warned.take(warning)
        if unsaid is not None:
            logger.warning("%s%s", warning, f" (and {unsaid} more since it was last said)" if unsaid else "")

    def news_for(self, worker: str) -> list[str]:
        """Returns the ids of the worker's episodes that were committed since the last call for this worker."""
        return self._told.pop(worker, [])

    async def lose(self, worker: str, reason: str, *, ends_run: bool = False) -> bool:
        """Handles the death of a worker: fences its journal, makes its episodes wait for a lease again, and takes those
        that were finished but not committed out of the counts. `reason` says how it died.
        `ends_run`: True if the run ends by it.

        Returns True if the worker made progress, or the cause of its death is known: a file of the worker was
        committed; its journal shows an answered call, a command, a survived step, or an episode that is over for the
        first time; or an episode is charged now. Errors: OSError.
        """
        held = self.dispatcher.attempts_of(worker)
        journal = await asyncio.to_thread(self.fences.fence_lost, worker, self.dispatcher.leases_of(worker))
        known = [one.charged for one in journal.episodes.values() if one.charged] if journal else []
        last = await asyncio.to_thread(self.fences.last_place_of, worker)
        if is_placed := last is not None and not known:
            did = f"ended it ({last.crash})" if last.crash else "held the interpreter's lock"
            reason += f"; its code {did} in {last.place}: let such code run in a process of its own"
        self.last_loss = known[0] if known else reason
        has_progressed = journal is not None and self.dispatcher.shows_progress(journal)
        charges = self.dispatcher.lose(worker, journal, reason, is_placed)
        if charges:
            self.last_charge = charges[0].charged or ""
        is_stuck = bool(known) or (last is not None and last.crash is None)
        self.tally.first_tries.lose([one.episode_id for one in held], charges, is_stuck)
        self._losses.tell(worker, self.last_loss, None if ends_run else len(held) - len(charges))
        _log_each(logging.DEBUG, held, f"its worker {worker} is lost; the episode goes on elsewhere")
        for receipt in self._uncommitted.pop(worker, {}).values():
            self.tally.add(receipt, sign=-1)
        self._told.pop(worker, None)
        self.tally.workers_lost += 1
        self.metrics.count_lost_worker()
        if worker in self._useful:
            self._useful.discard(worker)
            return True
        return has_progressed or bool(charges)


def _log_each(level: int, episodes: Iterable[EpisodeKey], message: str) -> None:
    if logger.isEnabledFor(level):
        for episode in episodes:
            with about(**ids_of(episode)):
                logger.log(level, message)
