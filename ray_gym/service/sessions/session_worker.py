"""Defines the worker whose episodes are sessions, which callers drive from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ray

from ray_gym.config.sections import GroupsSection, ServiceSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import Failure
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.history import History, HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Over
from ray_gym.play.play import Played
from ray_gym.play.session import CommandSession
from ray_gym.run.lease import Lease
from ray_gym.run.worker.player import LeasePlayer
from ray_gym.run.worker.worker import Worker, WorkerSetup
from ray_gym.service.sessions.session_table import SessionTable

if TYPE_CHECKING:
    from ray_gym.run.driver.driver import MakeWorker

PATIENCE_S = 15.0
"""Seconds that a replay may wait for a recorded call, on top of the seconds that a tool may take.

After that the replay counts as diverged from the record.
"""
COMMANDS = 10_000
"""Most commands that run in one worker at once."""


@dataclass(frozen=True, slots=True)
class SessionPlayer(LeasePlayer):
    """Plays sessions, which callers reach through the worker's session table.

    A session has one try: its caller could not drive another one.
    """

    table: SessionTable
    most_waiting: int
    """Most commands that may wait in one session."""

    async def play(self, lease: Lease) -> Played:
        """Plays a session until it has ended, and returns its only try. Never raises, cancellation apart."""
        if lease.suspect:
            self.table.suspects.add(lease.spec.episode_id)
        return await LeasePlayer.play(self, lease)  # no `super()`: a dataclass with slots is made anew

    async def _tries(self, spec: EpisodeSpec, history: History) -> Played:
        history.queued_at = None  # the caller decides when the first call comes
        patience_s = self.stage.limits.tool_deadline_s + PATIENCE_S  # a caller waits for the session
        log = CallLog(spec.episode_id, spec.try_, spec.attempt, self.journal, history, patience_s)
        played = await self.table.host(spec.episode_id, CommandSession(spec, self.stage, log, self.most_waiting))
        self._record(Over(spec.episode_id, spec.attempt))
        return played

    def _fail_unplayed(self, spec: EpisodeSpec, failure: Failure) -> Played:
        """Fails a session before it is played, and returns its result.

        The session is put into the session table, where its caller reads the reason.
        """
        played = LeasePlayer._fail_unplayed(self, spec, failure)
        self.table.show(spec.episode_id, CommandSession(spec, self.stage, CallLog(), played=played))
        return played


class SessionWorker(Worker):
    """A session worker is a worker with a session table, through which callers drive its episodes."""

    def __init__(self, name: str, setup: WorkerSetup, concurrency: int, offer: str, service: ServiceSection) -> None:
        """Makes the worker. `offer`: name of the environment that its sessions play."""
        self._table = SessionTable(offer, service.idle_s)
        self._most_waiting = service.max_waiting_commands
        super().__init__(name, setup, concurrency)

    def _make_player(
        self, stage: Stage, groups: GroupsSection, journal: Journal | None, histories: HistoryReader | None
    ) -> LeasePlayer:
        return SessionPlayer(stage, groups, journal, histories, self._table, self._most_waiting)

    async def call_session(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the worker's `SessionTable` by name, and returns its answer. Errors: Refused."""
        return await getattr(self._table, method)(*arguments)


def session_workers(offer: str, service: ServiceSection) -> MakeWorker:
    """Returns a function by which a driver starts session workers as Ray actors.

    `offer`: name of the environment that their sessions play.
    """

    async def make(name: str, setup: WorkerSetup, concurrency: int, strategy: Any) -> Any:
        options = {
            "num_cpus": setup.fanout.cpus_per_worker,
            "max_concurrency": COMMANDS,
            "scheduling_strategy": strategy,
        }
        return ray.remote(SessionWorker).options(**options).remote(name, setup, concurrency, offer, service)

    return make
