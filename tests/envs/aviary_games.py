"""Defines environments as users of aviary write them."""

from __future__ import annotations

import random
from typing import Any

from aviary.core import Environment, Message, TaskDataset, Tool, ToolRequestMessage, fenv

closed: list[str] = []


class Safe(Environment[dict[str, int]]):
    """A safe with a secret number: a guess is told whether it is too low or too high."""

    def __init__(self, seed: int = 0, guesses: int = 5, fails_at: int | None = None) -> None:
        self.secret = random.Random(seed).randrange(1, 9)
        self.guesses, self.fails_at = guesses, fails_at

    async def reset(self) -> tuple[list[Any], list[Tool]]:
        self.state = {"guesses": 0}
        self.tools = [Tool.from_function(self.guess), Tool.from_function(self.look)]
        return [Message(role="system", content="You open safes."), Message(content="Open it.")], self.tools

    async def step(self, action: Message) -> tuple[list[Any], float, bool, bool]:
        if not isinstance(action, ToolRequestMessage):
            return [Message(content="Words open nothing.")], -0.25, action.content == "I give up", False
        self.right = False
        before = self.state["guesses"]
        told: list[Any] = list(await self.exec_tool_calls(action, concurrency=False))
        reward = 1.0 if self.right else -0.125 * (self.state["guesses"] - before)
        told.append(Message(content=f"{self.guesses - self.state['guesses']} guesses are left."))
        return told, reward, self.right, self.state["guesses"] >= self.guesses

    def guess(self, number: int) -> str:
        """Try a number.

        Args:
            number: From 1 to 8.
        """
        if self.state["guesses"] == self.fails_at:
            raise OSError("the safe is gone")
        if not 1 <= number <= 8:
            raise ValueError("the dial has no such number")
        self.state["guesses"] += 1
        self.right = number == self.secret
        return "click" if self.right else "too low" if number < self.secret else "too high"

    def look(self) -> dict[str, int]:
        """Look at the dial."""
        return {"lowest": 1, "highest": 8}

    async def close(self) -> None:
        closed.append("safe")


class Safes(TaskDataset):
    def get_new_env_by_idx(self, idx: int) -> Safe:
        return [Safe(seed=1), Safe(seed=2, guesses=2)][idx]


@fenv.start()
def basket(fruit: str) -> tuple[str, dict[str, Any]]:
    return f"Put three {fruit} into the basket.", {"inside": []}


@basket.tool()
def put(thing: str, state: Any) -> str:
    """Put something into the basket."""
    state.inside.append(thing)
    state.reward = len(state.inside) / 4
    state.done = len(state.inside) == 3
    return f"{len(state.inside)} inside"


@basket.tool()
def find(id: str, function_name: str, cls: str) -> str:  # names of the library's own parameters
    """Find a fruit."""
    return f"{id} {function_name} {cls}"


@basket.tool()
def divide(by: int) -> float:
    """Divide one by a number."""
    return 1 / by


class Pictures(Safe):
    async def reset(self) -> tuple[list[Any], list[Tool]]:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        return [Message(content=[image])], []  # type: ignore[arg-type]


NO_MAKER = 3


def no_environment() -> int:
    return NO_MAKER


def safe_of(secret: int) -> Environment[dict[str, int]]:
    made = Safe()
    made.secret = secret
    return made


def unannotated(secret: int):  # type: ignore[no-untyped-def]
    return safe_of(secret)


def breaks_its_word() -> Safe:
    return NO_MAKER  # type: ignore[return-value]
