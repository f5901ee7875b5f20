"""Defines a talk in which both parties have tools of their own, on a till that they share."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from playing import Talk

from ray_gym import Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.models.base import Completion, CompletionRequest


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


async def counting(request: CompletionRequest) -> Completion:
    """Puts 60 into the till, and what is missing with a mistake first; then it says what it was told last."""
    results = [message.content for message in request.messages if message.role == "tool"]
    given: list[dict[str, Any]] = [{"amount": 60}, {"amount": "ten"}, {"amount": 10}]
    if len(results) == len(given):
        return Completion(Message("assistant", f"Told: {results}"))
    [put] = [tool for tool in request.tools if tool.name.rpartition("__")[2] == "put"]
    call = ToolCall(f"call_{len(results)}", put.name, json.dumps(given[len(results)]))
    return Completion(Message("assistant", tool_calls=(call,)))
