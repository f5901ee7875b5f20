"""The service: who may what, rollouts, sessions."""

from __future__ import annotations

from ray_gym.service.api import EnvironmentList, Readiness
from ray_gym.service.setup import ServiceSetup


class Service:
    def __init__(self, setup: ServiceSetup) -> None:
        self._setup = setup

    async def ready(self) -> Readiness:
        return Readiness(status="ready", models=list(self._setup.engines))

    async def environments(self) -> EnvironmentList:
        return EnvironmentList(environments=[])

    async def counts(self) -> dict[str, float]:
        return {}

    async def stop(self) -> None:
        """Take down what it started."""
