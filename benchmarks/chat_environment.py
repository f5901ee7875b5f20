"""Defines the environment of `benchmarks.orchestration`: a conversation whose own code costs next to nothing.

Policy and user exchange short texts, in five turns each. In its first turn the policy looks something up. So an episode
has eleven model calls (six of the policy, five of the user) and one tool call, and nearly all of its cost is that of
ray_gym.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, ToolCall, ToolError, tool
from ray_gym.models.base import CompletionRequest

TURNS = 5
"""Number of turns of each side.

The run's `limits.max_turns` ends the conversation, as it would with a language model.
"""
STEPS_PER_TURN = 2
"""Number of model calls of the policy's first turn: one for the tool call and one for the text after it."""

TOPICS = {"granite": "igneous", "slate": "metamorphic", "chalk": "sedimentary", "basalt": "igneous"}
SENTENCES = (
    "That is what I would have guessed, but I should like to hear what speaks against it before we go on.",
    "Could you say that again in other words, with one example from a place that both of us may have seen?",
    "I am not sure that this follows; the colour alone does not tell us much about how a stone came to be.",
    "Thank you, that makes it clear. Let us turn to the next question, which is where it is found most often.",
)


class ChatTask(Task):
    topic: str


@dataclass(slots=True)
class Chat:
    topic: str
    looked_up: int = 0


class ChatEnvironment(Environment[ChatTask, Chat]):
    """Two participants talk about a stone; the policy is rewarded for having looked it up."""

    participants = ("policy", "user")
    look_ups = 1
    """Number of look-ups that are worth a reward of 1."""

    def generate(self, rng: random.Random, index: int) -> ChatTask:
        return ChatTask(topic=rng.choice(list(TOPICS)))

    def setup(self, task: ChatTask, episode: Episode) -> Chat:
        return Chat(task.topic)

    def opening(self, task: ChatTask, state: Chat) -> Opening:
        return Opening(
            system={"policy": "You know about stones. Look them up.", "user": "You want to know about stones. Ask."},
            messages={"policy": f"What kind of stone is {state.topic}?"},
        )

    @tool(participants=("policy",))
    def look_up(self, state: Chat, caller: Participant, stone: str) -> dict[str, str | int]:
        """Looks up a stone's kind."""
        if stone not in TOPICS:
            raise ToolError(f"nothing is known of {stone!r}")
        state.looked_up += 1
        return {"stone": stone, "kind": TOPICS[stone], "times": state.looked_up}

    def score(self, state: Chat, episode: Episode) -> float:
        return state.looked_up / self.look_ups


async def player(request: CompletionRequest) -> Message:
    """Answers as the policy or as the user. The policy's first answer calls its tool for the stone of the opening; all
    others are a sentence.
    """
    await asyncio.sleep(0)  # else each episode would run alone from its first call to its last
    if not request.tools or len(request.messages) > len(("system", "opening")):
        return Message("assistant", SENTENCES[request.seed % len(SENTENCES)])
    stone = request.messages[-1].content.removesuffix("?").rsplit(" ", 1)[-1]
    call = ToolCall(f"call_{request.seed % 2**32:08x}", "look_up", f'{{"stone":"{stone}"}}')
    return Message("assistant", tool_calls=(call,))
