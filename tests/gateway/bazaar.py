"""Defines an environment in which a policy buys and a user answers, and a scripted model with a token for each byte.

The model notes every call. A call that asks it to wait is answered once the file that it names exists.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ray_gym import Environment, Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.models.base import Completion, CompletionRequest

END = b"\n"
ASSISTANT = b"assistant: "


class Bag(Task):
    size: int = 3


class Bazaar(Environment[Bag, list[str]]):
    """The policy takes things until the bag is full."""

    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> Bag:
        return Bag()

    def setup(self, task: Bag, episode: Any) -> list[str]:
        return []

    def opening(self, task: Bag, state: list[str]) -> Opening:
        return Opening(
            messages={"policy": "What would you like, a pen or a book?"},
            system={"policy": "You are a customer.", "user": "You keep a shop. Answer in a few words."},
        )

    @tool()
    def take(self, state: list[str], caller: Participant, item: Literal["pen", "book"], count: Literal[1, 2]) -> str:
        """Take something off the shelf."""
        state += [item] * count
        return json.dumps({"taken": len(state)})

    def finished(self, state: list[str], episode: Any) -> str | None:
        return "the bag is full" if len(state) >= episode.task.size else None

    def score(self, state: list[str], episode: Any) -> float:
        return len(state) / episode.task.size


async def echo(request: CompletionRequest, rng: random.Random, notes: str) -> Message:
    """Says what it heard last, does as that says, and thinks."""
    last, folder = request.messages[-1].content, Path(notes)
    (folder / f"asked-{secrets.token_hex(8)}").write_text(last)
    if last.startswith("wait "):
        while not (folder / last.split()[1]).exists():  # noqa: ASYNC110  another process makes it
            await asyncio.sleep(0.02)
    said = f"<think>hm</think>\nre: {last}" if "aloud" in last else f"re: {last}"
    arguments = '{"item":  "p\\u0065n", "count": 1}'
    calls = tuple(ToolCall(f"call_{rng.getrandbits(32):08x}", "take", arguments) for _ in range(last.count("buy")))
    if last == "garble":
        calls = (ToolCall("call_garbled", "take", '{"item": '),)
    return Message("assistant", "" if calls or "hush" in last else said, "I think", calls)


def clerk(request: CompletionRequest, rng: random.Random) -> Message:
    return Message("assistant", f"You said: {request.messages[-1].content}. What else would you like, a pen or a book?")


@dataclass
class Speller:
    """Gives tokens to what another model says."""

    model: Any

    async def complete(self, request: CompletionRequest) -> Completion:
        message = (await self.model.complete(request)).message
        new = [spelled(one) for one in request.messages[request.known :]]
        said = np.frombuffer(body_of(message) + END, np.uint8).astype(np.int32)
        return Completion(
            message,
            prompt_ids=np.frombuffer(b"".join(new) + ASSISTANT, np.uint8).astype(np.int32),
            prompt_lengths=tuple(map(len, new)),
            token_ids=said,
            logprobs=(said / -1000).astype(np.float32),
            prompt_tokens=len(request.history),
            generated_tokens=len(said),
        )

    async def close(self) -> None:
        await self.model.close()


class SpellingEngine(ScriptedEngine):
    Options = ScriptedOptions
    gives_tokens = True

    def connect(self) -> Any:
        return Speller(super().connect())


def spelled(message: Message) -> bytes:
    return f"{message.role}: ".encode() + body_of(message) + END


def body_of(message: Message) -> bytes:
    calls = [f"{call.name}({call.arguments})" for call in message.tool_calls]
    return " ".join([message.content, *calls]).strip().encode()
