"""Holds conversations of several turns with a model as threads do: every call sends the exact token history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ray_gym.deployments.vllm.load_meter import count_cacheable
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest, Model, Sampling

STORY = "The parcel that I ordered on the 12th has not come yet, and the page says that it was delivered to number 47."
NEXT = "That is not what I asked. Please look again, and tell me in a few words what happens next and who will call me."


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts prompt tokens of calls. `least` must be computed even if no cache ever forgets, in whole blocks."""

    calls: int
    prompt: int
    computed: int
    least: int

    @property
    def ratio(self) -> float:
        return self.computed / self.least

    @staticmethod
    def sum(counts: Iterable[Counts]) -> Counts:
        totals = [(each.calls, each.prompt, each.computed, each.least) for each in counts]
        return Counts(*(sum(column) for column in zip(*totals, strict=True)))


@dataclass
class Talk:
    """Holds one conversation with a model. Its first words are its own, so that no cache has its first prompt."""

    name: str
    block_size: int
    sampling: Sampling
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Starts and ends of the generated tokens in `ids`."""
    logprobs: list[float] = field(default_factory=list)
    """Logprobs of the generated tokens."""

    def __post_init__(self) -> None:
        opening = [Message("system", f"{self.name}: you work at a shop's help desk."), Message("user", STORY)]
        self._request = CompletionRequest(opening, self.sampling, self.name, seed=0)

    @property
    def ids(self) -> list[int]:
        ids: list[int] = self._request.history.tolist()
        return ids

    async def turn(self, model: Model) -> Counts:
        """Makes one call, and adds what the user says next. Errors: EpisodeFailure; RuntimeError if its history was not kept."""
        request = self._request
        completion = await model.complete(request)
        if completion.fork_reason is not None or not len(completion.token_ids):
            raise RuntimeError(f"{self.name}: {completion.fork_reason or completion.finish_reason}")
        prompt = np.concatenate([request.history, completion.prompt_ids])
        if completion.prompt_tokens != len(prompt):
            raise RuntimeError(
                f"{self.name}: the engine was given {completion.prompt_tokens} tokens, not {len(prompt)}"
            )
        least = len(prompt) - count_cacheable(len(request.history), self.block_size)
        self.spans.append((len(prompt), len(prompt) + len(completion.token_ids)))
        self.logprobs += completion.logprobs.tolist()
        request.messages = [*request.messages, completion.message, Message("user", NEXT)]
        request.history = np.concatenate([prompt, completion.token_ids])
        request.known = len(request.messages) - 1
        return Counts(1, len(prompt), len(prompt) - completion.cached_tokens, least)

    async def turns(self, model: Model, count: int) -> Counts:
        return Counts.sum([await self.turn(model) for _ in range(count)])


async def hold(talks: Iterable[Talk], model: Model, turns: int) -> Counts:
    """Holds all talks at once."""
    return Counts.sum(await asyncio.gather(*(talk.turns(model, turns) for talk in talks)))
