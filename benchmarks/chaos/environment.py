"""Defines the chat of `benchmarks.chat_environment` with three threads at once in every third task.

The number of an episode's calls depends on its task only, so the progress of a run can be counted in calls.
"""

from __future__ import annotations

import asyncio
import random

from benchmarks.chat_environment import ChatEnvironment, ChatTask
from ray_gym import Episode, Options

TURNS = 4
STEPS_PER_TURN = 2
DRAFTS = 3
REPLIES = 2
"""Number of answers in each thread with drafts."""
CALLS = TURNS * 2 + 2
"""Number of calls of an episode without drafts: each side's turns, and a second step in two turns of the policy."""
CALLS_WITH_DRAFTS = CALLS + DRAFTS * REPLIES


class StonesTask(ChatTask):
    drafts: bool


class StonesOptions(Options):
    first_come: bool = False
    """True shows the policy the draft that was finished first, so that a replay in another order would diverge."""


class StonesEnvironment(ChatEnvironment):
    """Has the policy write drafts about a stone before the chat, and look the stone up twice."""

    task_type = StonesTask
    Options = StonesOptions
    look_ups = 2

    def generate(self, rng: random.Random, index: int) -> StonesTask:
        return StonesTask(topic=super().generate(rng, index).topic, drafts=index % 3 == 0)

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
