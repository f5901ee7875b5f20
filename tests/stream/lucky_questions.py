"""Asks one question an episode, of a model that gives tokens with the version of its weights and computes nothing."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from ray_gym import Environment, Episode, Message, Opening, Options, Task
from ray_gym.models.base import Completion, CompletionRequest, Engine, Model, VersionSpan

TOKENS = 32
"""Number of tokens of each answer."""


class Question(Task):
    number: int


class AskOptions(Options):
    breaks_at: int | None = None
    """Index of the task that the generator fails on."""
    luck: float | None = None
    """Share of the episodes that are rewarded, by chance; None: those of some tasks are."""
    breaks: bool = False
    """True to fail every episode."""


class Ask(Environment[Question, int]):
    """Takes one answer, which is right now and then. One in twenty can't be scored."""

    Options = AskOptions

    def generate(self, rng: random.Random, index: int) -> Question:
        if index == self.options.breaks_at:
            raise ValueError("it can't go on, on purpose")
        return Question(number=rng.randrange(1_000_000))

    def setup(self, task: Question, episode: Episode) -> int:
        return task.number

    def opening(self, task: Question, state: int) -> Opening:
        return Opening(messages={"policy": f"Is {state} lucky?"})

    def finished(self, state: int, episode: Episode) -> str | None:
        return "answered" if episode.turns_of("policy") else None

    def score(self, state: int, episode: Episode) -> float:
        if episode.rng("score").random() < 0.05:
            raise ValueError("it can't be scored, on purpose")
        if self.options.breaks:
            raise ValueError("nothing can be scored, on purpose")
        if self.options.luck is not None:
            return float(episode.rng("luck").random() < self.options.luck)
        return float(state % 7 == 0)


class AskBoth(Ask):
    """Takes an answer of the policy, and then one of the user."""

    participants = ("policy", "user")

    def opening(self, task: Question, state: int) -> Opening:
        return Opening(messages={"policy": f"Is {state} lucky?", "user": "Is it?"})

    def finished(self, state: int, episode: Episode) -> str | None:
        return "answered" if episode.turns_of("user") else None


class VersionedOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: str
    """File with the version, which a trainer writes and the next token comes from."""
    delay_s: float = 0.1
    tells_versions: bool = True
    """False to leave out the versions, as an endpoint does."""


class VersionedModel:
    def __init__(self, options: VersionedOptions) -> None:
        self._options = options

    async def complete(self, request: CompletionRequest) -> Completion:
        begun = self._version()
        await asyncio.sleep(self._options.delay_s * random.Random(request.seed).uniform(0.5, 1.5))
        ended = self._version()
        half = TOKENS // 2
        versions = (VersionSpan(begun, 0, half), VersionSpan(ended, half, TOKENS))
        return Completion(
            message=Message("assistant", "yes"),
            prompt_ids=np.arange(8, dtype=np.int32),
            token_ids=np.arange(TOKENS, dtype=np.int32),
            logprobs=np.full(TOKENS, -1.0, dtype=np.float32),
            versions=versions if self._options.tells_versions else (),
            generated_tokens=TOKENS,
        )

    async def close(self) -> None:
        return None

    def _version(self) -> int:
        path = Path(self._options.weights)
        return int(path.read_text()) if path.exists() else 0


class VersionedEngine(Engine):
    Options = VersionedOptions
    options: VersionedOptions
    gives_tokens = True

    @property
    def tells_versions(self) -> bool:
        return self.options.tells_versions

    def connect(self) -> Model:
        return VersionedModel(self.options)
