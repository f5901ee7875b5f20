"""Defines the interface of a token engine, which takes the token ids of a prompt and returns the ids that it
generates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ray_gym.models.base import Logprobs, Sampling, TokenIds, VersionSpan

ENVIRONMENT_TOOLS = "tools"
"""Field of grammars that are made of an environment's tools."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """Describes the grammar that constrains a generation. `kind` is vLLM's name for the notation of `text`."""

    kind: Literal["structural_tag", "json"]
    text: str
    field: str = ENVIRONMENT_TOOLS
    """Field of the request that the grammar is made of, for errors."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Holds what a token engine gets for one generation."""

    prompt_ids: list[int]
    sampling: Sampling
    max_tokens: int
    """Largest number of tokens to generate, in place of the sampling's own."""
    session_id: str
    grammar: Grammar | None = None
    keep_control_tokens: bool = False
    """True if the generated text should contain control tokens, because a parser looks for them."""
    line: str = ""
    """Line of adapters that generates; "" for the model's own weights."""

    def sampling_fields(self) -> Mapping[str, Any]:
        """Returns all sampling parameters by vLLM's names, which are the same in Python and over HTTP. The dict has
        every parameter, as a server would take a missing one from the checkpoint's generation config.
        """
        sampling = self.sampling
        return {
            **sampling.shape(),
            "max_tokens": self.max_tokens,
            "stop": list(sampling.stop) or None,
            "seed": sampling.seed,
            "skip_special_tokens": not self.keep_control_tokens,
        }


@dataclass(frozen=True, slots=True)
class Generation:
    """Holds what a token engine returns for one generation."""

    prompt_ids: list[int]
    """Ids of the prompt as the engine reports them."""
    token_ids: TokenIds
    """int32 [n]: ids of the generated tokens."""
    logprobs: Logprobs
    """float32 [n]: log probabilities of the generated tokens."""
    text: str
    """Text of the generated tokens, without the end-of-turn token."""
    truncated: bool
    """True if `max_tokens` ended the generation."""
    versions: tuple[VersionSpan, ...] = ()
    """Versions of the weights that generated the tokens."""
    cached_tokens: int = 0
    """Number of tokens of the prompt that were in the engine's prefix cache."""
    stop_text: str | None = None
    """Text of the sampling's `stop` that ended the generation; None if none did."""


class TokenEngine(Protocol):
    """Generates from token ids. It has to be safe for many concurrent calls on one event loop."""

    @property
    def max_model_len(self) -> int:
        """Returns the largest length of prompt and generation together, in tokens."""
        ...

    async def generate(self, request: GenerationRequest) -> Generation:
        """Returns the tokens that the model generates after the ids of a prompt.

        Errors: EpisodeFailure (infra if the engine breaks or can't be reached, data if it refuses the request's
        grammar).
        """
        ...
