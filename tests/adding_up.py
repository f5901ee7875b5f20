"""Defines an environment with a tool, a judge, and options that change what is played or how it is scored."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping
from typing import Any, Literal

from ray_gym import (
    Environment,
    Episode,
    EpisodeFailure,
    FailureKind,
    Message,
    Opening,
    Participant,
    Task,
    tool,
    tool_call_message,
)
from ray_gym import Options as EnvironmentOptions
from ray_gym.graders import Judge
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.stop import StopReason

CALLED: list[int] = []
"""Numbers with which the tool that has an effect was called."""


class SumTask(Task):
    first: int
    second: int


class SumOptions(EnvironmentOptions):
    tolerance: int = 0
    judge: bool = False
    question: str = "Is it right?"
    greeting: str = "Add"
    way: Literal["turn", "drafts", "outside", "blame", "long", "break"] = "turn"


class Sums(Environment[SumTask, dict[str, Any]]):
    """Add two numbers."""

    Options = SumOptions

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        if self.options.judge:
            self.auxiliary = ("judge",)

    def generate(self, rng: random.Random, index: int) -> SumTask:
        return SumTask(first=rng.randrange(50), second=rng.randrange(50))

    async def setup(self, task: SumTask, episode: Episode) -> dict[str, Any]:
        if self.options.way == "outside":

            async def look(key: str) -> int:
                return 1

            await episode.effect("look", look)
        return {"luck": episode.rng("luck").random(), "id": episode.new_id(), "at": episode.now()}

    def opening(self, task: SumTask, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": f"{self.options.greeting} {task.first} and {task.second}."})

    @tool()
    def add(self, state: dict[str, Any], caller: Participant, first: int, second: int) -> int:
        """Add."""
        state["added"] = first + second
        return first + second

    @tool(effect="retry")
    async def send(self, state: dict[str, Any], caller: Participant, number: int) -> str:
        """Send."""
        CALLED.append(number)
        return f"sent as number {len(CALLED)}"

    async def run(self, episode: Episode) -> None:
        if self.options.way == "drafts":
            await self._draft(episode)
        elif self.options.way == "long":
            while not episode.stopped:
                await episode.turn("policy")
                episode.tell("policy", "Go on.")
        else:
            await episode.turn("policy")
        if self.options.way == "break":
            episode.end(StopReason.FINISHED, "over")
            raise OSError("it broke after its end")
        if self.options.way == "blame":
            raise EpisodeFailure(FailureKind.POLICY, "here", "it was its own fault")

    async def _draft(self, episode: Episode) -> None:
        """Has three drafts written at once, and each of them answered as soon as it is there."""

        async def draft(number: int) -> str:
            thread = episode.open_thread("policy")
            episode.tell(thread, f"draft {number} of {episode.task.first}")
            said = await episode.reply(thread)
            episode.tell(thread, f"so {said.content}?")
            return (await episode.reply(thread)).content

        drafts = await asyncio.gather(*(draft(number) for number in range(3)))
        episode.tell("policy", f"Your drafts: {', '.join(drafts)}")
        await episode.turn("policy")
        episode.end(StopReason.FINISHED, "three drafts")

    async def score(self, state: dict[str, Any], episode: Episode) -> float:
        found = re.findall(r"-?\d+", episode.answer)
        distance = abs(int(found[-1]) - episode.task.first - episode.task.second) if found else 1000
        if not self.options.judge:
            return float(distance <= self.options.tolerance)
        asked = Judge(f"{self.options.question} {episode.answer}", {"[[yes]]": 1.0, "[[no]]": 0.0}, retries=0)
        return (await asked.verdict(episode)).value

    def perfect(self, task: SumTask) -> Mapping[str, Player]:
        return {"policy": off_by(0), "judge": judge}


class FarSums(Sums):
    """Add two numbers on a server."""

    opens_outside = True


def off_by(number: int) -> Player:
    """Makes a policy that uses the tool, and is off by a number."""

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        last = request.messages[-1]
        if last.role == "tool":
            return Message("assistant", f"Answer: {int(last.content) + number}", reasoning="As I was told.")
        first, second = re.findall(r"\d+", last.content)[:2]
        return tool_call_message("add", {"first": int(first), "second": int(second)}, "call_1")

    return player


def sends(request: CompletionRequest, rng: random.Random) -> Message:
    if request.messages[-1].role == "tool":
        return Message("assistant", f"Done: {request.messages[-1].content}. Answer: 1")
    return tool_call_message("send", {"number": rng.randrange(100)}, "call_1")


async def slow_and_varied(request: CompletionRequest, rng: random.Random) -> Message:
    await asyncio.sleep(rng.random() / 50)
    return Message("assistant", f"Answer: {rng.randrange(100)}")


async def hangs_later(request: CompletionRequest, rng: random.Random) -> Message:
    if len(request.messages) > 4:
        await asyncio.sleep(60)
    return Message("assistant", "Answer: 7")


def judge(request: CompletionRequest, rng: random.Random) -> Message:
    """Says yes to even numbers."""
    even = int(re.findall(r"-?\d+", request.messages[-1].content)[-1]) % 2 == 0
    return Message("assistant", "[[yes]]" if even else "[[no]]")


def lenient(request: CompletionRequest, rng: random.Random) -> Message:
    return Message("assistant", "[[yes]]")


def mumbling(request: CompletionRequest, rng: random.Random) -> Message:
    return Message("assistant", "hm")
