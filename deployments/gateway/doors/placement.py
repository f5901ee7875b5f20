"""Brings session commands to the worker that holds the session, and to the next one when that has died."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Coroutine
from contextvars import Context
from typing import Any

from ray.exceptions import RayActorError, RayTaskError

from ray_gym.aio.backoff import pause_s
from ray_gym.deployments.gateway.remote_service import SUBMIT_S, RemoteService
from ray_gym.openai_api.refused import Refused, service_unavailable
from ray_gym.service.api import SessionInfo, SessionList, SessionRequest, to_json
from ray_gym.service.pages import Row, find_episode
from ray_gym.service.service import Service
from ray_gym.service.sessions import views
from ray_gym.service.sessions.desk import GONE
from ray_gym.service.sessions.sessions import Placed

PATIENCE_S = 60.0
"""Seconds for which a command is retried while workers die; one is replaced in seconds."""
COMMAND_S = 3600.0
"""Seconds for one command, a last resort: long before, the worker ends it by the limits of the config."""
COMMIT_S = 5.0
"""Seconds for which a request for an episode waits for its commit; after that it is answered with the time to retry."""
REMEMBERED = 10_000


class HasEnded(Exception):
    """Says that the session's episode is committed."""


class Placement:
    def __init__(self, service: RemoteService) -> None:
        self._service = service
        self._known: OrderedDict[tuple[str, str], Placed] = OrderedDict()
        self._apart: set[asyncio.Task[None]] = set()

    async def apart(self, step: Coroutine[Any, Any, None]) -> None:
        """Carries a step out to its end, also when the request is cancelled. The step has a context of its own: with a
        request that is cancelled Ray cancels all that was asked in its context, also after that.
        """
        task = asyncio.create_task(step, context=Context())
        self._apart.add(task)
        task.add_done_callback(self._apart.discard)
        await asyncio.shield(task)

    async def opened(self, caller: str, request: SessionRequest, key: str | None) -> Placed:
        text = await asyncio.to_thread(to_json, request)
        placed = await self._service.ask_within(SUBMIT_S, Service.open_session_text, caller, text, key)
        self._remember(caller, placed)
        return placed

    async def listed(self, caller: str, cursor: str | None, limit: int) -> SessionList:
        return await self._service.ask(Service.sessions, caller, cursor, limit)

    async def at_desk(self, caller: str, session_id: str, method: str, *arguments: Any) -> Any:
        """Returns the answer of the worker's `Desk`. A command is given again to the next worker, under the same key.
        When its caller goes, Serve cancels the request, and Ray the call to the worker: a command that waits there
        gives its place back, one that has begun goes on.
        Errors: Refused, HasEnded.
        """
        began = time.monotonic()
        for tried in range(1_000):
            placed = self._known.get((caller, session_id))
            if placed is None:
                placed = await self._service.ask_within(SUBMIT_S, Service.place, caller, session_id)
                self._remember(caller, placed)
            if placed.worker is None:
                raise HasEnded
            try:
                async with asyncio.timeout(COMMAND_S):
                    return await placed.worker.desk.remote(method, session_id, *arguments)
            except RayActorError:
                last = service_unavailable("the session's worker has died", 2)
            except RayTaskError as error:
                if not isinstance(error.cause, Refused):
                    raise
                if error.cause.status != 503 and error.cause.code != GONE:
                    raise error.cause from None
                last = error.cause
            self._known.pop((caller, session_id), None)
            if time.monotonic() - began > PATIENCE_S:
                raise last
            await asyncio.sleep(pause_s(tried, first_s=0.05, longest_s=2))
        raise AssertionError("unreachable")

    async def episode(self, caller: str, session_id: str) -> Row:
        """Returns the record of a session that has ended. Errors: Refused."""
        placed = await self._service.ask_within(SUBMIT_S, Service.place, caller, session_id)
        if placed.worker is not None:
            with contextlib.suppress(HasEnded):
                info: SessionInfo = await self.at_desk(caller, session_id, "info")
                if info.score is None:
                    raise Refused(409, "not_ended", "the session has not ended: score it, or close it")
            within_s = COMMIT_S + SUBMIT_S
            placed = await self._service.ask_within(within_s, Service.committed, caller, session_id, COMMIT_S)
        if placed.worker is not None:
            message = "the session's episode is not committed yet: ask again"
            raise Refused(409, "not_committed", message, retry_after_s=1)
        row = await asyncio.to_thread(find_episode, placed.location, session_id, placed.file)
        if row is None:
            raise Refused(410, "episode_is_gone", "the session's episode was taken out of the run's files")
        return row

    async def ended(self, caller: str, session_id: str) -> SessionInfo:
        """Describes a session whose episode is committed. Errors: Refused."""
        placed = await self._service.ask_within(SUBMIT_S, Service.place, caller, session_id)
        return views.of_row(session_id, placed.offer, await self.episode(caller, session_id))

    def _remember(self, caller: str, placed: Placed) -> None:
        self._known[caller, placed.session_id] = placed
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
