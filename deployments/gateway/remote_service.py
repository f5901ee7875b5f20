"""Calls the Service actor from a gateway, by its name. Each call has a deadline, and finds the actor again if it was
restarted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import ray
from ray.exceptions import RayActorError

from ray_gym.openai_api.refused import service_unavailable
from ray_gym.service.service import Service

Given = ParamSpec("Given")
Result = TypeVar("Result")

ANSWER_S = 30.0
"""Seconds for most calls."""
SUBMIT_S = 120.0
"""Seconds for a call in which tasks may be read from files."""
PROBE_S = 5.0
"""Seconds for the calls of probes, which come every few seconds."""


class RemoteService:
    """Calls methods of `Service`: `await remote.ask(Service.rollout, caller, run_id)` returns what that method returns,
    with its type.

    Errors of all calls: Refused if the method refuses (as the cause of a RayTaskError), or if there is no actor;
    TimeoutError after the deadline; RayActorError if the actor is dead.
    """

    def __init__(self, name: str, namespace: str) -> None:
        self._name = name
        self._namespace = namespace
        self._actor: Any = None

    async def ask(
        self,
        method: Callable[Concatenate[Service, Given], Awaitable[Result]],
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Calls a method of the Service actor with a deadline of `ANSWER_S` seconds, and returns its result.

        Errors: RayTaskError of what the method raises; Refused (503) if there is no actor; TimeoutError; RayActorError
        if the actor is dead.
        """
        return await self.ask_within(ANSWER_S, method, *arguments, **named)

    async def ask_within(
        self,
        seconds: float,
        method: Callable[Concatenate[Service, Given], Awaitable[Result]],
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Calls a method of the Service actor with a deadline of `seconds`, and returns its result.

        Errors: RayTaskError of what the method raises; Refused (503) if there is no actor; TimeoutError; RayActorError
        if the actor is dead.
        """
        actor = await self._find_actor()
        try:
            async with asyncio.timeout(seconds):
                answer: Result = await getattr(actor, method.__name__).remote(*arguments, **named)
                return answer
        except RayActorError:
            self._actor = None  # an actor of the same name may have been started since
            raise

    async def _find_actor(self) -> Any:
        if self._actor is None:
            try:
                self._actor = await asyncio.to_thread(ray.get_actor, self._name, self._namespace)
            except ValueError:
                raise service_unavailable("the service is not up", retry_after_s=2) from None
        return self._actor
