"""Plays the sessions of one environment as a run, to which episodes are added one by one. It has workers of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import RunFailed, describe
from ray_gym.metrics.recorder import Recorder
from ray_gym.openai_api.refused import service_unavailable
from ray_gym.run.directory.directory import CONFIG, RunDirectory, create, plan_directory, reopen
from ray_gym.run.driver.carrying_out import load_commits, setup_of
from ray_gym.run.driver.commits import Commits, OnCommitted
from ray_gym.run.driver.driver import Driver
from ray_gym.run.driver.suspects import SuspectSessions
from ray_gym.run.plan import Plan
from ray_gym.service.sessions.session_worker import session_workers

logger = logging.getLogger(__name__)

LEASE_S = 30.0
"""Seconds that a session may wait for a worker. A worker that died is replaced in seconds."""


class SessionRun:
    """A session run plays the open sessions of one environment. `start` is called first, `close` last."""

    def __init__(self, name: str, plan: Plan, on_committed: OnCommitted, recorder: Recorder) -> None:
        """Takes the name of the offer, and a plan without episodes.

        `on_committed` is called with the ids of the sessions that a file has, and the file's name, once it is
        committed.
        """
        self.name = name
        self.plan = plan
        self._on_committed = on_committed
        self._recorder = recorder
        self._directory: RunDirectory | None = None
        self._commits: Commits | None = None
        self._driver: Driver | None = None
        self._driving: asyncio.Task[Any] | None = None
        self._stopping = asyncio.Event()

    @property
    def is_up(self) -> bool:
        """Says whether the driver is running. It has ended after `close`, and after an error."""
        return self._driving is not None and not self._driving.done()

    @property
    def location(self) -> str:
        """Returns the location of the run's directory. Errors: AssertionError before the run is started."""
        assert self._directory is not None
        return self._directory.location

    @property
    def troubles(self) -> str:
        """Returns, in lines, what is wrong with workers (`Tally.troubles`); empty while nothing is."""
        return self._commits.tally.troubles if self._commits is not None and self.is_up else ""

    async def start(self, specs: Sequence[EpisodeSpec]) -> None:
        """Opens the run's directory and starts the driver with its workers. `specs`: sessions that are open already.

        Errors: UserError or RunFailed if the directory can't be used or is in use; OSError. The run is closed then.
        """
        try:
            self._driver = await self._make_driver(specs)
        except BaseException:
            await self.close()
            raise
        self._driving = asyncio.create_task(self._drive(self._driver))

    async def _make_driver(self, specs: Sequence[EpisodeSpec]) -> Driver:
        """Opens the directory and makes the driver.

        Errors: UserError or RunFailed if the directory can't be used or is in use; OSError.
        """
        plan = replace(self.plan, specs=list(specs))
        self._directory = await asyncio.to_thread(_open_directory, plan)
        self._commits = await asyncio.to_thread(
            load_commits, plan, self._directory, lambda tally, in_flight: None, self._recorder
        )
        self._commits.on_committed = self._on_committed
        self._commits.dispatcher.sessions = SuspectSessions()
        workers, most = plan.config.service.session_workers, plan.config.service.max_sessions
        changes = {"workers": workers, "concurrency": workers * most}  # any worker can take all, when others are gone
        fanout = plan.config.fanout.model_copy(update=changes)
        limits = plan.config.limits.model_copy(update={"max_failed": None})
        setup = replace(setup_of(plan, self._directory), fanout=fanout, limits=limits)
        make = session_workers(self.name, plan.config.service)
        return Driver(setup, self._directory, self._commits, self._stopping, make, open_ended=True)

    def add(self, spec: EpisodeSpec) -> None:
        """Adds a session to be played. It must not be one of those that were given to `start`."""
        assert self._commits is not None and self._driver is not None
        self._commits.dispatcher.add(spec)
        self._driver.wake()

    def find_committed(self, ids: set[str]) -> list[str]:
        """Finds which of these sessions are committed, and returns their ids. Blocks."""
        assert self._directory is not None
        return [found for one in self._directory.committed() if (found := one.episode.episode_id) in ids] if ids else []

    async def holder_of(self, session_id: str, has_ended: Callable[[], bool]) -> Any | None:
        """Waits until a worker (an actor) has leased a session, and returns the worker; None if the session has ended.

        `has_ended` says whether the session has ended. Errors: Refused (503) if no worker has leased the session within
        LEASE_S seconds, or the driver has ended. It says why workers take long to start, if they do.
        """
        assert self._commits is not None and self._driver is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEASE_S):
                while not has_ended():
                    holder = self._commits.dispatcher.holder_of(session_id)
                    if holder is not None and (actor := self._driver.workers.get(holder)) is not None:
                        return actor
                    if not self.is_up:
                        break
                    await self._driver.wait_until_leased(within_s=1)
                if has_ended():
                    return None
        why = self._commits.tally.slow_start if self.is_up else ""
        raise service_unavailable(f"no worker has the session now{why and f': {why}'}", retry_after_s=2)

    async def close(self) -> None:
        """Stops the driver and its workers, and closes the directory. Open sessions can be resumed.

        An error of the driver is logged.
        """
        self._stopping.set()
        if self._driving is not None:
            await asyncio.wait({self._driving})
            if (error := self._driving.exception()) is not None:
                logger.warning("sessions of %s: %s", self.name, describe(error))
        if self._directory is not None:
            await asyncio.to_thread(self._directory.close)

    async def _drive(self, driver: Driver) -> None:
        """Runs the driver until it ends. Errors: RunFailed if it ends by a failure."""
        outcome = await driver.run()
        if outcome.failure:
            raise RunFailed(outcome.failure)


def _open_directory(plan: Plan) -> RunDirectory:
    """Opens the directory of the sessions' run, or makes it.

    Errors: UserError if it can't be used, or another process has it open; OSError.
    """
    there = Path(plan.config.output.dir) / str(plan.config.run.name)
    if (there / CONFIG).exists():
        return reopen(there, plan.config.output)
    shutil.rmtree(there, ignore_errors=True)  # a service was killed while it made this directory
    directory = plan_directory(plan.config, there)
    create(directory)
    directory.write_config(plan.config)
    return directory
