"""One answer to an open-ended prompt, scored by a model that has learned what people prefer (RLHF)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ray_gym import Environment, Episode, Message, Opening, Score, Task
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.reward_model import prompts
from ray_gym.envs.reward_model.players import best_player, comparing_player, scalar_player
from ray_gym.envs.reward_model.question import question
from ray_gym.graders import PairwiseComparison, RewardModel
from ray_gym.graders.comparison import HIGHEST, LOWEST
from ray_gym.models.player import Player

SHARE_OF_CONVERSATIONS = 0.25
NEUTRAL = (LOWEST + HIGHEST) / 2
_OF_COMPARISONS = ("pairs", "retries", "unreadable")


class OpenEndedTask(Task):
    """One of `prompt` and `messages`, a conversation in which the user spoke last."""

    prompt: str = ""

    @model_validator(mode="after")
    def _asks_for_something(self) -> OpenEndedTask:
        if bool(self.prompt.strip()) == bool(self.messages):
            raise ValueError("set one of prompt (a text) and messages (a conversation)")
        if self.messages and self.messages[-1].role != "user":
            raise ValueError(f"messages: the last is the {self.messages[-1].role}'s; only the user's can be answered")
        return self


class OpenEnded(Environment[OpenEndedTask, None]):
    """Open-ended prompts, scored by a reward model: a number for each answer, or comparisons within a group."""

    auxiliary = ("reward_model",)
    pattern = "single-step"
    scoring = "reward model: a number, or comparisons of a group's answers"

    class Options(EnvironmentOptions):
        kind: Literal["scalar", "comparison"] = "scalar"
        """What the reward model answers: a number for a conversation, or (generative) which of two answers is better."""
        squash: Literal["none", "sigmoid"] = "none"
        """Of scalar: the reward is the number as it is, or what a sigmoid makes of it."""
        too_long: float | None = None
        """Of scalar: the number for a conversation that the reward model's context has no room for; without it, the model has failed."""
        pairs: Literal["circle", "all"] = "circle"
        """Of comparison, as the next two: which answers of a group are compared."""
        retries: Annotated[int, Field(ge=0)] = 2
        """How often a comparison that can't be read is asked for again."""
        unreadable: Literal["fail", "neutral"] = "fail"
        """What becomes of it then: the reward model has failed, or both answers get 3 points."""

        @model_validator(mode="after")
        def _belong_to_the_kind(self) -> OpenEnded.Options:
            others = ("squash", "too_long") if self.kind == "comparison" else _OF_COMPARISONS
            wrong = [name for name in others if name in self.model_fields_set]
            if wrong:
                raise ValueError(
                    f"{', '.join(wrong)}: no option of kind {self.kind}; leave it out, or set the other kind"
                )
            return self

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        if self.options.kind == "scalar" and self.options.squash == "none":
            self.reward_range = (-math.inf, math.inf)

    def generate(self, rng: random.Random, index: int) -> OpenEndedTask:
        """Prompts, and for a quarter conversations."""
        if rng.random() >= SHARE_OF_CONVERSATIONS:
            return OpenEndedTask(prompt=prompts.prompt(rng))
        turns = [{"role": role, "content": text} for role, text in prompts.conversation(rng)]
        return OpenEndedTask.model_validate({"messages": turns})

    def setup(self, task: OpenEndedTask, episode: Episode) -> None:
        return None

    def opening(self, task: OpenEndedTask, state: None) -> Opening:
        return Opening(messages={"policy": task.prompt})

    def perfect(self, task: OpenEndedTask) -> Mapping[str, Player]:
        """The best that the scripted reward models know of."""
        judge = comparing_player if self.options.kind == "comparison" else scalar_player
        return {"policy": best_player, "reward_model": judge}

    def scores_groups(self) -> bool:
        return bool(self.options.kind == "comparison")

    async def score(self, state: None, episode: Episode) -> Score:
        """An answer that was never given is an empty one; one that was cut counts as far as it goes."""
        answered = [*asked_of(episode), Message("assistant", episode.answer)]
        given = await RewardModel(answered, too_long=self.options.too_long).verdict(episode)
        reward = sigmoid(given.value) if self.options.squash == "sigmoid" else given.value
        return Score(reward, {"reward_model": given.value})

    async def score_group(self, episodes: Sequence[Episode]) -> Sequence[Score]:
        conversation = asked_of(episodes[0])
        comparison = PairwiseComparison(
            lambda first, second: question(conversation, first, second),
            self.options.pairs,
            self.options.retries,
            NEUTRAL if self.options.unreadable == "neutral" else None,
        )
        verdicts = await comparison.verdicts(episodes, [episode.answer for episode in episodes])
        return [Score(verdict.value, verdict.parts) for verdict in verdicts]


def asked_of(episode: Episode) -> list[Message]:
    """The conversation as the policy saw it before it said anything."""
    before = sum(event.thread == "policy" and event.kind in ("system", "opening") for event in episode.events)
    return episode.threads["policy"].messages[:before]


def sigmoid(value: float) -> float:
    """Without overflow, whatever the value."""
    return (1 + math.tanh(value / 2)) / 2
