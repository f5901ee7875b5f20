"""The Service actor as a gateway reaches it: by name, each call with a deadline, found again after it was started anew."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import ray
from ray.exceptions import RayActorError

from ray_gym.openai_api.refused import unavailable
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

ANSWER_S = 30.0
SUBMIT_S = 120.0
"""Tasks may be read from files then."""
PROBE_S = 5.0
"""For those who ask every few seconds."""


class RemoteService:
    """All methods raise Refused (in a RayTaskError), TimeoutError, or Ray's errors for an actor that is gone."""

    def __init__(self, name: str, namespace: str) -> None:
        self._name = name
        self._namespace = namespace
        self._actor: Any = None

    async def ready(self) -> Readiness:
        return cast(Readiness, await self._call("ready", PROBE_S))

    async def counts(self) -> dict[str, float]:
        return cast(dict[str, float], await self._call("counts", PROBE_S))

    async def environments(self) -> EnvironmentList:
        return cast(EnvironmentList, await self._call("environments", ANSWER_S))

    async def submit(self, caller: str, request: RolloutRequest, key: str | None) -> tuple[RolloutStatus, bool]:
        text = await asyncio.to_thread(wire.written, request)
        return cast(tuple[RolloutStatus, bool], await self._call("submit_text", SUBMIT_S, caller, text, key))

    async def rollouts(self, caller: str, cursor: str | None, limit: int) -> RolloutList:
        return cast(RolloutList, await self._call("rollouts", ANSWER_S, caller, cursor, limit))

    async def rollout(self, caller: str, run_id: str) -> RolloutStatus:
        return cast(RolloutStatus, await self._call("rollout", ANSWER_S, caller, run_id))

    async def cancel(self, caller: str, run_id: str) -> RolloutStatus:
        return cast(RolloutStatus, await self._call("cancel", ANSWER_S, caller, run_id))

    async def location(self, caller: str, run_id: str) -> str:
        return cast(str, await self._call("location", ANSWER_S, caller, run_id))

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]:
        within_s = timeout_s + ANSWER_S
        return cast(tuple[RolloutStatus, int], await self._call("wait", within_s, caller, run_id, commits, timeout_s))

    async def open_session(self, caller: str, request: SessionRequest, key: str | None) -> Any:
        text = await asyncio.to_thread(wire.written, request)
        return await self._call("open_session_text", SUBMIT_S, caller, text, key)

    async def sessions(self, caller: str, cursor: str | None, limit: int) -> SessionList:
        return cast(SessionList, await self._call("sessions", ANSWER_S, caller, cursor, limit))

    async def place(self, caller: str, session_id: str) -> Any:
        return await self._call("place", SUBMIT_S, caller, session_id)

    async def committed(self, caller: str, session_id: str, within_s: float) -> Any:
        return await self._call("committed", within_s + SUBMIT_S, caller, session_id, within_s)

    async def _call(self, method: str, within_s: float, *arguments: Any) -> Any:
        actor = await self._found()
        try:
            async with asyncio.timeout(within_s):
                return await getattr(actor, method).remote(*arguments)
        except RayActorError:
            self._actor = None  # one of the same name may have been started since
            raise

    async def _found(self) -> Any:
        if self._actor is None:
            try:
                self._actor = await asyncio.to_thread(ray.get_actor, self._name, self._namespace)
            except ValueError:
                raise unavailable("the service is not up", retry_after_s=2) from None
        return self._actor
