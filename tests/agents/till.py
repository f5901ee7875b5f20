"""Defines a talk in which both parties have tools of their own, on a till that they share."""

from __future__ import annotations

import asyncio
from typing import Any

from playing import Talk

from ray_gym import Opening, Participant, Task, tool


class Till(Talk):
    """Both parties count money in a till."""

    def setup(self, task: Task, episode: Any) -> list[int]:  # type: ignore[override]
        return []

    def opening(self, task: Task, state: Any) -> Opening:
        return Opening(messages={"policy": "Count."})

    @tool(participants=("policy",))
    async def put(self, state: list[int], caller: Participant, amount: int) -> str:
        """Put money into the till."""
        await asyncio.sleep(0)
        state.append(amount)
        return f"{sum(state)} in it"

    @tool(participants=("user",))
    def rob(self, state: list[int], caller: Participant) -> str:
        """Take all of it."""
        state.clear()
        return "empty"

    @tool(participants=("policy",))
    def wait(self, state: list[int], caller: Participant) -> str:
        """Fail."""
        raise OSError("the drawer is stuck")

    def finished(self, state: list[int], episode: Any) -> str | None:
        return "full" if sum(state) >= 100 else None

    def score(self, state: list[int], episode: Any) -> float:
        return min(1.0, sum(state) / 100)
