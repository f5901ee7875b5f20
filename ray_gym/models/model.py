"""Defines the interface between an episode and the model that generates its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from ray_gym.messages import Message, ToolChoice, ToolSchema
from ray_gym.models.numbers import Integer, Real

TokenIds = NDArray[np.int32]
Logprobs = NDArray[np.float32]
FinishReason = Literal["stop", "length", "context_full", "content_filter"]
"""End of an answer: the model's own, or what cut it. content_filter: the endpoint withheld the rest."""
SpanKind = Literal["plain", "truncated", "constrained"]

NO_TOKENS: TokenIds = np.zeros(0, dtype=np.int32)
NO_LOGPROBS: Logprobs = np.zeros(0, dtype=np.float32)

NEAR_ZERO = 0.01
"""Temperatures and values of top-p up to this make sampling all but greedy."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Tells how tokens are drawn. `max_tokens` is the limit for each model call, and `top_k` 0 means no limit.
    Generation ends at any text of `stop`. `seed` None leaves the seed to the engine; from another, each call of an
    episode gets a seed of its own.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    temperature: Annotated[Real, Field(ge=0, le=2)] = 1.0
    max_tokens: Annotated[Integer, Field(ge=1)] = 512
    top_p: Annotated[Real, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[Integer, Field(ge=0)] = 0
    min_p: Annotated[Real, Field(ge=0, le=1)] = 0.0
    presence_penalty: Annotated[Real, Field(ge=-2, le=2)] = 0.0
    frequency_penalty: Annotated[Real, Field(ge=-2, le=2)] = 0.0
    repetition_penalty: Annotated[Real, Field(gt=0)] = 1.0
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    seed: Integer | None = None

    @property
    def is_plain(self) -> bool:
        """Returns True if the model's logits and the temperature alone give the distribution that is sampled from: the
        temperature is not 0, and nothing is truncated or penalised.
        """
        unpenalised = (self.presence_penalty, self.frequency_penalty, self.repetition_penalty) == (0, 0, 1)
        return self.temperature > 0 and (self.top_p, self.top_k, self.min_p) == (1, 0, 0) and unpenalised

    @property
    def greedy(self) -> str | None:
        """Returns the option that leaves (almost) only the likeliest token to be drawn, as `name: value`; None if there
        is none.
        """
        if self.temperature <= NEAR_ZERO:
            return f"temperature: {self.temperature:g}"
        if self.top_k == 1:
            return "top_k: 1"
        if self.top_p <= NEAR_ZERO:
            return f"top_p: {self.top_p:g}"
        return f"min_p: {self.min_p:g}" if self.min_p >= 1 - NEAR_ZERO else None

    def shape(self) -> dict[str, Any]:
        """Returns the options that shape the distribution, under vLLM's names, which are the record's too.
        `max_tokens`, `stop` and `seed` are not among them.
        """
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "min_p": self.min_p,
            "presence_penalty": self.presence_penalty,
            "frequency_penalty": self.frequency_penalty,
            "repetition_penalty": self.repetition_penalty,
        }


class CompletionRequest(msgspec.Struct):
    """Asks a model for one completion.

    `messages` is the thread so far and `history` the exact ids of its current sample, prompts and generations alike
    (int32 [n]); `history` covers the first `known` messages. `session_id` is the same for all calls of an episode.
    `tools` are those that the prompt shows, the same at every step; `allowed_tools` are those that the environment's
    state allows now. `thread` names the conversation within the episode. `seed` is for engines that draw at random
    themselves. `group_id` is the same for all episodes of one task, whose prompts begin alike; it is empty for calls
    outside of any group. `line` names the line of adapters that generates; it is empty for the model's own weights.
    """

    messages: list[Message]
    sampling: Sampling
    session_id: str
    seed: int
    thread: str = ""
    known: int = 0
    history: TokenIds = NO_TOKENS
    tools: tuple[ToolSchema, ...] = ()
    allowed_tools: tuple[ToolSchema, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = False
    response_format: str | None = None
    """Format that the text has to have: OpenAI's field `response_format` of chat completions, as JSON text; None for
    any text.
    """
    group_id: str = ""
    line: str = ""
    beside: dict[int, str] = {}
    """Texts that the model gave beside messages of its own (`Completion.beside`), by their index in `messages`."""


class VersionSpan(msgspec.Struct, frozen=True, gc=False):
    """Says that the generated tokens [start, end) of a completion came from this weight version."""

    version: int
    start: int
    end: int


class Completion(msgspec.Struct):
    """Holds the result of a model call.

    `prompt_ids` are the ids that this call added to the history before it generated (the whole prompt if `fork_reason`
    is set): int32 [n]; `prompt_lengths` says how many of them belong to each new message, the rest is the generation
    prompt. `token_ids` (int32 [m]) were generated and `logprobs` (float32 [m]) are theirs, under the distribution they
    were drawn from. Endpoints that give no ids leave these four fields empty: ids are never invented (`has_tokens`).

    `versions` tells which tokens came from which weight version, `kind` which kind of distribution they were drawn
    from, and `grammar` the hash of its constraints (None without any). `cached_tokens` of the `prompt_tokens` were in
    the model's prefix cache. `last_words` is the index in the message's content of the words after its last thought.
    `stop_text` is the text of the sampling's `stop` that ended the answer; None if none did, or it isn't known.
    """

    message: Message
    finish_reason: FinishReason = "stop"
    prompt_ids: TokenIds = NO_TOKENS
    prompt_lengths: tuple[int, ...] = ()
    token_ids: TokenIds = NO_TOKENS
    logprobs: Logprobs = NO_LOGPROBS
    versions: tuple[VersionSpan, ...] = ()
    kind: SpanKind = "plain"
    grammar: str | None = None
    fork_reason: str | None = None
    prompt_tokens: int = 0
    generated_tokens: int = 0
    cached_tokens: int = 0
    last_words: int = 0
    stop_text: str | None = None
    beside: str = ""
    """JSON text of the fields that an endpoint gave beside the calls, and may want back with the message in later calls. It
    is part of no record.
    """

    @property
    def has_tokens(self) -> bool:
        return len(self.prompt_ids) > 0 or len(self.token_ids) > 0


class Model(Protocol):
    """Connects one process to a model. It is safe for many concurrent calls."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the model's completion of a request.

        Errors: EpisodeFailure: infra if the model can't be reached or breaks, data if it can't be asked this,
        environment if a Python function that plays the model raises.
        """
        ...

    async def close(self) -> None: ...
