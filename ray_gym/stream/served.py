"""Asks the holders of the weights which versions the trained models of a stream serve.

Thus the stream notices every update, whichever program has made it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ray.exceptions import RayError

from ray_gym.models.engine import Engine, Served, line_of
from ray_gym.weights.holder import find_holder

LOOK_S = 1.0
"""Seconds between two looks at the versions. They are also looked at whenever the trainer takes a group."""
ANSWER_S = 10.0
"""Seconds that the holders may take to answer."""


class ServedVersions:
    """Asks for the versions of the weights that models serve."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        """Takes the engines of models that are up, by name.

        Models whose weights can't be changed are left out. Blocks.
        """
        served = {name: engine for name, engine in engines.items() if isinstance(engine, Served)}
        found = {name: find_holder(engine.app) for name, engine in served.items()}
        self._holders: dict[str, Any] = {name: holder for name, holder in found.items() if holder is not None}
        self._lines = {name: line_of(engines[name]) for name in self._holders}

    async def look(self) -> dict[str, int]:
        """Returns the version of the weights that each model serves, by name.

        The result is empty if a holder fails, or does not answer within ANSWER_S seconds: it is being started again, or
        its application is ending.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self.ask()
        except (RayError, TimeoutError):
            return {}

    async def ask(self) -> dict[str, int]:
        """Returns the version of the weights that each model serves, by name. Waits for holders that are starting.

        Errors: RayError.
        """
        found = await asyncio.gather(
            *(holder.status.remote(self._lines[name]) for name, holder in self._holders.items())
        )
        return {name: status.current.version for name, status in zip(self._holders, found, strict=True)}
