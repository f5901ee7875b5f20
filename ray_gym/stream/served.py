"""Which weights the trained models of a stream serve, as the holders of them have it: whoever updates them tells the stream by that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ray.exceptions import RayError

from ray_gym.models.engine import Engine, Served
from ray_gym.weights.holder import find_holder

LOOK_S = 1.0
"""How often it is looked, beside for each group that is taken."""
ANSWER_S = 10.0


class ServedVersions:
    def __init__(self, engines: Mapping[str, Engine]) -> None:
        """Of models that are up, by name; those whose weights can't be changed are left out. Blocks."""
        apps = {name: engine.app for name, engine in engines.items() if isinstance(engine, Served)}
        found = {name: find_holder(app) for name, app in apps.items()}
        self._holders: dict[str, Any] = {name: holder for name, holder in found.items() if holder is not None}

    async def look(self) -> dict[str, int]:
        """As `ask`. Empty while a holder can't be asked: it is started again, or its application goes."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self.ask()
        except (RayError, TimeoutError):
            return {}

    async def ask(self) -> dict[str, int]:
        """By model. Waits for holders that are only starting. Errors: RayError."""
        found = await asyncio.gather(*(holder.status.remote() for holder in self._holders.values()))
        return {name: status.current.version for name, status in zip(self._holders, found, strict=True)}
