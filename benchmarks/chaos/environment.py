"""Defines a conversation about stones, with tools, and with three threads at once in every third task.

The number of an episode's calls depends on its task only, so the progress of a run can be counted in calls.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from benchmarks.chat_environment import TOPICS
from ray_gym import Environment, Episode, Message, Opening, Options, Participant, Task, ToolError, tool

TURNS = 4
STEPS_PER_TURN = 2
DRAFTS = 3
REPLIES = 2
"""Number of answers in each thread with drafts."""
CALLS = TURNS * 2 + 2
"""Number of calls of an episode without drafts: each side's turns, and a second step in two turns of the policy."""
CALLS_WITH_DRAFTS = CALLS + DRAFTS * REPLIES


class StonesTask(Task):
    topic: str
    drafts: bool


@dataclass(slots=True)
class Stones:
    topic: str
    looked_up: int = 0


class StonesOptions(Options):
    first_come: bool = False
    """True shows the policy the draft that was finished first, so that a replay in another order would diverge."""


class StonesEnvironment(Environment[StonesTask, Stones]):
    """Has policy and user talk about a stone, which the policy looks up."""

    Options = StonesOptions
    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> StonesTask:
        return StonesTask(topic=rng.choice(list(TOPICS)), drafts=index % 3 == 0)

    def setup(self, task: StonesTask, episode: Episode) -> Stones:
        return Stones(task.topic)

    def opening(self, task: StonesTask, state: Stones) -> Opening:
        return Opening(
            system={"policy": "You know about stones. Look them up.", "user": "You want to know about stones. Ask."},
            messages={"policy": f"What kind of stone is {state.topic}?"},
        )

    async def run(self, episode: Episode) -> None:
        if episode.task.drafts:
            episode.tell("policy", f"Somebody said before: {await self._draft(episode)}")
        await super().run(episode)

    async def _draft(self, episode: Episode) -> str:
        """Opens DRAFTS threads of the policy, which run at the same time, and returns the last text of one of them.

        It is that of the thread that was finished first if `first_come` is set, else the greatest of the texts.
        """
        came: list[str] = []

        async def write(thread: str) -> str:
            for number in range(REPLIES):
                episode.tell(thread, f"Draft {number} about {episode.state.topic}.")
                text = (await episode.reply(thread)).content
            came.append(text)
            return text

        drafts = await asyncio.gather(*(write(episode.open_thread("policy")) for _ in range(DRAFTS)))
        return came[0] if self.options.first_come else max(drafts)

    @tool(participants=("policy",))
    def look_up(self, state: Stones, caller: Participant, stone: str) -> dict[str, str | int]:
        """Looks up a stone's kind."""
        if stone not in TOPICS:
            raise ToolError(f"nothing is known of {stone!r}")
        state.looked_up += 1
        return {"stone": stone, "kind": TOPICS[stone], "times": state.looked_up}

    def score(self, state: Stones, episode: Episode) -> float:
        return state.looked_up / 2


def count_answers(messages: list[Message]) -> int:
    """Returns the number of messages that the model has written."""
    return sum(message.role == "assistant" for message in messages)
