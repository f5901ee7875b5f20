"""Scores one answer to an open-ended prompt by a model that has learned what people prefer (RLHF)."""

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
from ray_gym.messages import is_blank
from ray_gym.models.player import Player

SHARE_OF_CONVERSATIONS = 0.25
"""Share of generated tasks that are conversations."""
NEUTRAL = (LOWEST + HIGHEST) / 2
_OF_COMPARISONS = ("pairs", "retries", "unreadable")


class OpenEndedTask(Task):
    """A task is either a `prompt`, or `messages`: a conversation in which the user spoke last."""

    prompt: str = ""

    @model_validator(mode="after")
    def _check_prompt(self) -> OpenEndedTask:
        if is_blank(self.prompt) != bool(self.messages):
            raise ValueError("set one of prompt (a text) and messages (a conversation)")
        if self.messages and self.messages[-1].role != "user":
            raise ValueError(f"messages: the last is the {self.messages[-1].role}'s; only the user's can be answered")
        return self


class OpenEnded(Environment[OpenEndedTask, None]):
    """The policy answers open-ended prompts, scored by a reward model: a number each, or comparisons within a group."""

    auxiliary = ("reward_model",)
    pattern = "single-step"
    scoring = "reward model: a number, or comparisons of a group's answers"

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        kind: Literal["scalar", "comparison"] = "scalar"
        """scalar: the reward model rates a conversation by a number; comparison: it tells the better of two answers."""
        squash: Literal["none", "sigmoid"] = "none"
        """Option of scalar: the reward is the number as it is (none), or its sigmoid."""
        too_long: float | None = None
        """Option of scalar: the number for a conversation too long for the reward model's context. None: failure."""
        pairs: Literal["circle", "all"] = "circle"
        """Option of comparison: the answers of a group that are compared, in a circle (each twice) or all with all."""
        retries: Annotated[int, Field(ge=0)] = 2
        """Option of comparison: number of retries of a comparison that can't be read."""
        unreadable: Literal["fail", "neutral"] = "fail"
        """Option of comparison: one that can't be read even then is a failure (fail), or gives each answer 3 points."""

        @model_validator(mode="after")
        def _check_kind(self) -> OpenEnded.Options:
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
        """Draws a prompt, or in a quarter of cases a conversation."""
        if rng.random() >= SHARE_OF_CONVERSATIONS:
            return OpenEndedTask(prompt=prompts.prompt(rng))
        turns = [{"role": role, "content": text} for role, text in prompts.conversation(rng)]
        return OpenEndedTask.model_validate({"messages": turns})

    def setup(self, task: OpenEndedTask, episode: Episode) -> None:
        return None

    def opening(self, task: OpenEndedTask, state: None) -> Opening:
        return Opening(messages={"policy": task.prompt})

    def perfect(self, task: OpenEndedTask) -> Mapping[str, Player]:
        """Returns the scripted reward model of the option's kind, and a policy that satisfies it."""
        judge = comparing_player if self.options.kind == "comparison" else scalar_player
        return {"policy": best_player, "reward_model": judge}

    def scores_groups(self) -> bool:
        return bool(self.options.kind == "comparison")

    async def score(self, state: None, episode: Episode) -> Score:
        """Returns the reward model's number for the answer, or its sigmoid if the option says so.

        A missing answer counts as an empty one, and an answer that was cut is scored too. Errors: EpisodeFailure
        (judge) if the reward model gives no number.
        """
        answered = [*conversation_of(episode), Message("assistant", episode.answer)]
        given = await RewardModel(answered, too_long=self.options.too_long).verdict(episode)
        reward = sigmoid(given.value) if self.options.squash == "sigmoid" else given.value
        return Score(reward, {"reward_model": given.value})

    async def score_group(self, episodes: Sequence[Episode]) -> Sequence[Score]:
        conversation = conversation_of(episodes[0])
        comparison = PairwiseComparison(
            lambda first, second: question(conversation, first, second),
            self.options.pairs,
            self.options.retries,
            NEUTRAL if self.options.unreadable == "neutral" else None,
        )
        verdicts = await comparison.verdicts(episodes, [episode.answer for episode in episodes])
        return [Score(verdict.value, verdict.parts) for verdict in verdicts]


def conversation_of(episode: Episode) -> list[Message]:
    """Returns the conversation that the policy saw before its first message."""
    before = sum(event.thread == "policy" and event.kind in ("system", "opening") for event in episode.events)
    return episode.threads["policy"].messages[:before]


def sigmoid(value: float) -> float:
    """Returns the sigmoid of any value, without overflow."""
    return (1 + math.tanh(value / 2)) / 2
