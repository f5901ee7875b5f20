"""Asks a service of this process, or a double of one, as the gateway's doors ask the Service actor."""

from __future__ import annotations

from typing import Any, cast

from ray_gym.deployments.gateway.remote_service import RemoteService


class Asked:
    """Calls methods by their names, so a double needs those only that are asked."""

    def __init__(self, service: object) -> None:
        self._service = service

    async def ask(self, method: Any, *arguments: Any) -> Any:
        return await getattr(self._service, method.__name__)(*arguments)

    async def ask_within(self, seconds: float, method: Any, *arguments: Any) -> Any:
        return await self.ask(method, *arguments)


def asked(service: object) -> RemoteService:
    """Makes what doors are given."""
    return cast(RemoteService, Asked(service))
