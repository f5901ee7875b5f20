"""Routes commands to the worker that plays the session, and retries them at the next worker if it dies."""

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
from ray_gym.service.sessions.session_table import GONE
from ray_gym.service.sessions.sessions import SessionPlace

PATIENCE_S = 60.0
"""Seconds for which a command is retried while workers die. A worker is replaced within seconds."""
COMMAND_S = 3600.0
"""Seconds for one command, as a last resort: the limits of the config end it long before."""
COMMIT_S = 5.0
"""Seconds for which a request for an episode waits for its commit. After that it is refused, with Retry-After."""
REMEMBERED = 10_000
"""Number of sessions whose workers are cached."""


class SessionEnded(Exception):
    """Says that the session has ended, and its episode is committed, so no worker has it."""


class SessionRouter:
    """Opens sessions (episodes that a caller drives by commands), and calls the workers that have them. It is for one
    event loop.
    """

    def __init__(self, service: RemoteService) -> None:
        self._service = service
        self._known: OrderedDict[tuple[str, str], SessionPlace] = OrderedDict()
        self._detached: set[asyncio.Task[None]] = set()

    async def run_detached(self, step: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine to its end, even if the request that started it is cancelled. It has a context of its own,
        since Ray cancels all calls that are made in the context of a cancelled request, also later ones. Errors: those
        that `step` raises.
        """
        task = asyncio.create_task(step, context=Context())
        self._detached.add(task)
        task.add_done_callback(self._detached.discard)
        await asyncio.shield(task)

    async def open(self, caller: str, request: SessionRequest, key: str | None) -> SessionPlace:
        """Opens a session, or finds the one that was opened under the same idempotency key, and returns its place: its
        id, its worker, and True if it is new. Errors: Refused if the service does not take the request, or is not up;
        RayError or TimeoutError if it does not answer.
        """
        text = await asyncio.to_thread(to_json, request)
        placed = await self._service.ask_within(SUBMIT_S, Service.open_session_text, caller, text, key)
        self._remember(caller, placed)
        return placed

    async def list_sessions(self, caller: str, cursor: str | None, limit: int) -> SessionList:
        """Returns a page of the caller's sessions, at most `limit`, the newest first. `cursor`: the `next` of the page
        before; None for the first page. Errors: Refused if the service is not up; RayError or TimeoutError if it does
        not answer.
        """
        return await self._service.ask(Service.sessions, caller, cursor, limit)

    async def call_worker(self, caller: str, session_id: str, method: str, *arguments: Any) -> Any:
        """Calls a method of the worker's `SessionTable`, and returns the method's answer. If the worker dies, no longer
        has the session or has no room (503), the command is retried at the next one, with the same arguments.

        If the client disconnects, Serve cancels the request, and Ray the call to the worker: a command that waits there
        is dropped, one that has begun continues. Errors: SessionEnded if the episode is committed; Refused if the
        service or the worker refuses the command, or if retries do not succeed within `PATIENCE_S` seconds;
        RayTaskError if the method raises anything else; TimeoutError after `COMMAND_S` seconds.
        """
        began = time.monotonic()
        for tried in range(1_000):
            placed = self._known.get((caller, session_id))
            if placed is None:
                placed = await self._service.ask_within(SUBMIT_S, Service.place, caller, session_id)
                self._remember(caller, placed)
            if placed.worker is None:
                raise SessionEnded
            try:
                async with asyncio.timeout(COMMAND_S):
                    return await placed.worker.call_session.remote(method, session_id, *arguments)
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

    async def read_episode(self, caller: str, session_id: str) -> Row:
        """Returns the row of the episode of a session that has ended. Errors: Refused (404 if the caller has no such
        session; 409 if it has not ended, or is not committed within `COMMIT_S` seconds; 410 if the row was removed).
        """
        placed = await self._service.ask_within(SUBMIT_S, Service.place, caller, session_id)
        if placed.worker is not None:
            with contextlib.suppress(SessionEnded):
                info: SessionInfo = await self.call_worker(caller, session_id, "info")
                if info.score is None:
                    raise Refused(409, "not_ended", "the session has not ended: score it, or close it")
            within_s = COMMIT_S + SUBMIT_S
            placed = await self._service.ask_within(
                within_s, Service.wait_until_committed, caller, session_id, COMMIT_S
            )
        if placed.worker is not None:
            message = "the session's episode is not committed yet: ask again"
            raise Refused(409, "not_committed", message, retry_after_s=1)
        row = await asyncio.to_thread(find_episode, placed.location, session_id, placed.file)
        if row is None:
            raise Refused(410, "episode_is_gone", "the session's episode was taken out of the run's files")
        return row

    async def describe_ended(self, caller: str, session_id: str) -> SessionInfo:
        """Returns the state of a session whose episode is committed. Errors: Refused (404 if the caller has no such
        session; 409 if it is not committed; 410 if its row was removed).
        """
        placed = await self._service.ask_within(SUBMIT_S, Service.place, caller, session_id)
        return views.info_of_row(session_id, placed.offer, await self.read_episode(caller, session_id))

    def _remember(self, caller: str, placed: SessionPlace) -> None:
        self._known[caller, placed.session_id] = placed
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
