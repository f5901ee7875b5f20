"""The service as others see it, whether it is an actor or an object in the same process: the same methods, the same refusals."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from ray.exceptions import RayActorError, RayTaskError

from ray_gym.service.api import EnvironmentList, Readiness, RolloutList, RolloutRequest, RolloutStatus
from ray_gym.service.errors import Refused, unavailable

ANSWER_S = 30.0
SUBMIT_S = 300.0
"""Of 100,000 tasks each is checked."""


class RolloutService(Protocol):
    """What the routes of rollouts ask. All methods raise Refused."""

    async def submit(self, caller: str, request: RolloutRequest, key: str | None) -> tuple[RolloutStatus, bool]: ...

    async def rollouts(self, caller: str) -> RolloutList: ...

    async def rollout(self, caller: str, run_id: str) -> RolloutStatus: ...

    async def cancel(self, caller: str, run_id: str) -> RolloutStatus: ...

    async def location(self, caller: str, run_id: str) -> str: ...

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]: ...


async def ask(actor: Any, method: str, *arguments: Any, within_s: float = ANSWER_S) -> Any:
    """A method of an actor. Errors: Refused: the actor's own, or that it doesn't answer."""
    try:
        async with asyncio.timeout(within_s):
            return await getattr(actor, method).remote(*arguments)
    except RayTaskError as error:
        if isinstance(error.cause, Refused):
            raise error.cause from None
        raise
    except (RayActorError, TimeoutError):
        raise unavailable("the service does not answer now") from None


class ServiceHandle:
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def ready(self) -> Readiness:
        answer: Readiness = await ask(self._actor, "ready")
        return answer

    async def environments(self) -> EnvironmentList:
        answer: EnvironmentList = await ask(self._actor, "environments")
        return answer

    async def counts(self) -> dict[str, float]:
        answer: dict[str, float] = await ask(self._actor, "counts")
        return answer

    async def submit(self, caller: str, request: RolloutRequest, key: str | None) -> tuple[RolloutStatus, bool]:
        answer: tuple[RolloutStatus, bool] = await ask(self._actor, "submit", caller, request, key, within_s=SUBMIT_S)
        return answer

    async def rollouts(self, caller: str) -> RolloutList:
        answer: RolloutList = await ask(self._actor, "rollouts", caller)
        return answer

    async def rollout(self, caller: str, run_id: str) -> RolloutStatus:
        answer: RolloutStatus = await ask(self._actor, "rollout", caller, run_id)
        return answer

    async def cancel(self, caller: str, run_id: str) -> RolloutStatus:
        answer: RolloutStatus = await ask(self._actor, "cancel", caller, run_id)
        return answer

    async def location(self, caller: str, run_id: str) -> str:
        answer: str = await ask(self._actor, "location", caller, run_id)
        return answer

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]:
        answer: tuple[RolloutStatus, int] = await ask(
            self._actor, "wait", caller, run_id, commits, timeout_s, within_s=timeout_s + ANSWER_S
        )
        return answer
