"""Holds the rollouts and sessions of all callers in one place. A caller may use only its own ones.

`Service` is a plain class; `ray-gym serve` makes it a Ray actor.
"""

from __future__ import annotations

import asyncio

from ray_gym.config.interpolations import unfilled
from ray_gym.logs import configure
from ray_gym.metrics.pulse import Pulse
from ray_gym.metrics.ray_export import RayExport
from ray_gym.metrics.recorder import Recorder
from ray_gym.run.driver.tally import Tally
from ray_gym.service import api as wire
from ray_gym.service.api import (
    EnvironmentList,
    Readiness,
    RolloutList,
    RolloutRequest,
    RolloutStatus,
    SessionList,
    SessionRequest,
)
from ray_gym.service.offers import offers_of
from ray_gym.service.rollouts.queue import RolloutQueue
from ray_gym.service.sessions.sessions import SessionPlace, Sessions
from ray_gym.service.setup import ServiceSetup


class Service:
    """Answers callers about environments, rollouts and sessions. `start` is called first, `close` last.

    Methods with a `caller` raise Refused if they refuse the request, also for another caller's rollout or session.
    `caller` is a caller's name, and `key` its idempotency key, None without one. Lists come in pages of at most `limit`
    items, from a cursor on.
    """

    def __init__(self, setup: ServiceSetup) -> None:
        """Describes the environments that are offered, and makes the service without starting it.

        Errors: UserError for an environment that can't be made, or a name that two offers have.
        """
        offers = offers_of(setup.config)
        self._log, self._name = setup.config.log, setup.config.service.name
        self._filled_in = setup.config.filled_in
        self._models = list(setup.config.models)
        self._environments = EnvironmentList(environments=[offer.info(setup.config) for offer in offers.values()])
        recorder = Recorder()
        self._pulse = Pulse(recorder, "service", RayExport())
        rollouts = setup.directory / "rollouts"
        self._rollouts = RolloutQueue(setup.config, setup.folder, setup.engines, offers, rollouts, recorder)
        self._sessions = Sessions(setup.config, setup.engines, offers, setup.directory, recorder)
        self._asked = Tally(0)
        self._state: Readiness = Readiness(status="starting", models=self._models)

    async def start(self) -> None:
        """Resumes the rollouts and sessions that an earlier service left unfinished."""
        configure(self._log, self._filled_in, service=self._name)
        self._pulse.start()
        await self._rollouts.recover()
        await self._sessions.recover()
        self._state = Readiness(status="ready", models=self._models)

    async def close(self) -> None:
        """Stops the rollouts and sessions under way. The next service of this name resumes them."""
        self._state = Readiness(status="stopping", models=self._models)
        await asyncio.gather(self._rollouts.close(), self._sessions.close())
        await self._pulse.stop()

    async def ready(self) -> Readiness:
        """Returns the state of the service, with the names of its models."""
        return self._state

    async def troubles(self) -> list[str]:
        """Returns what is wrong with workers, in lines with the rollout or the environment, and how models failed that
        were asked outside of both.
        """
        return [*self._asked.troubles.splitlines(), *self._rollouts.troubles(), *self._sessions.troubles()]

    async def note_failure(self, told: str) -> None:
        """Notes how a model failed that was asked outside of rollouts and sessions, for `troubles`."""
        self._asked.add_warning(unfilled(told, self._filled_in))

    async def environments(self) -> EnvironmentList:
        """Returns the environments that are offered, the config's own first."""
        return self._environments

    async def counts(self) -> dict[str, float]:
        """Returns the number of rollouts by state (`rollouts.STATE`), and of open sessions (`sessions.open`)."""
        return {**self._rollouts.counts(), **self._sessions.counts()}

    # ---- rollouts ----

    async def submit_text(self, caller: str, text: bytes, key: str | None) -> tuple[RolloutStatus, bool]:
        """Submits a rollout, and returns its status and True.

        If `key` names an earlier rollout, the status of that one and False are returned.
        `text` is a RolloutRequest as `api.to_json` writes it. It may be large, and is read in a thread. Errors:
        Refused; ValueError if `text` is no such request.
        """
        request = await asyncio.to_thread(wire.read, RolloutRequest, text)
        return await self._rollouts.submit(caller, request, key)

    async def rollouts(self, caller: str, cursor: str | None, limit: int) -> RolloutList:
        """Returns a page of the caller's rollouts that are in memory: at most `limit`, the newest first.

        `cursor`: the `next` of the page before; None: the first page.
        """
        return self._rollouts.list_page(caller, cursor, limit)

    async def rollout(self, caller: str, run_id: str) -> RolloutStatus:
        """Returns the status of a rollout. Errors: Refused (404) if the caller has no rollout of this id."""
        return await self._rollouts.status(caller, run_id)

    async def cancel(self, caller: str, run_id: str) -> RolloutStatus:
        """Cancels a rollout and returns its status. Its finished episodes are kept.

        Errors: Refused if the caller has no such rollout (404), if the rollout is over (409), or if the cancellation
        can't be written (503).
        """
        return await self._rollouts.cancel(caller, run_id)

    async def location(self, caller: str, run_id: str) -> str:
        """Returns the path of a rollout's directory. Errors: Refused (404) if the caller has no rollout of this id."""
        return await self._rollouts.location(caller, run_id)

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]:
        """Waits until more than `commits` files are committed, the rollout has ended, or the time is up.

        The time is `timeout_s` seconds, but at most 60. Returns the status and the number of committed files. Errors:
        Refused, also if the service is stopping.
        """
        return await self._rollouts.wait(caller, run_id, commits, timeout_s)

    # ---- sessions ----

    async def open_session_text(self, caller: str, text: bytes, key: str | None) -> SessionPlace:
        """Opens a session, and returns its place once a worker has it.

        `text` is a SessionRequest as `api.to_json` writes it. If `key` names an earlier session, its place is returned.
        Errors: Refused; ValueError if `text` is no such request.
        """
        return await self._sessions.open(caller, await asyncio.to_thread(wire.read, SessionRequest, text), key)

    async def sessions(self, caller: str, cursor: str | None, limit: int) -> SessionList:
        """Returns a page of the caller's sessions, open or ended lately: at most `limit`, the newest first.

        `cursor`: the `next` of the page before; None: the first page.
        """
        return self._sessions.list_page(caller, cursor, limit)

    async def place(self, caller: str, session_id: str) -> SessionPlace:
        """Returns the present place of a session: its worker, or its run once the session is committed.

        If the session is open and no worker has it, the call waits for one. Errors: Refused.
        """
        return await self._sessions.place(caller, session_id)

    async def wait_until_committed(self, caller: str, session_id: str, within_s: float) -> SessionPlace:
        """Waits until a session is committed, or `within_s` seconds (at most 60) are over, and returns its place.

        Errors: Refused if the caller has no such session (404), or no worker gets it (503).
        """
        return await self._sessions.wait_until_committed(caller, session_id, within_s)
