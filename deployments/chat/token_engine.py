"""Defines a token engine, which runs a model for a completion: token ids in, token ids out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ray_gym.models.base import Logprobs, Sampling, TokenIds, VersionSpan

OWN = "tools"
"""Name of our own grammars, for the tools of an environment."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar holds a generation to a form; `kind` is vLLM's name for the notation of `text`."""

    kind: Literal["structural_tag", "json"]
    text: str
    asked_by: str = OWN
    """Field of the request that the grammar is made of."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    prompt_ids: list[int]
    sampling: Sampling
    max_tokens: int
    session_id: str
    grammar: Grammar | None = None
    keep_control_tokens: bool = False
    """True if the text should spell control tokens, because a parser looks for them."""

    def sampling_fields(self) -> Mapping[str, Any]:
        """Returns the sampling under vLLM's names, which are the same in its API and over HTTP. It returns all of them:
        a server fills in any that is left out.
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
    """A generation's `prompt_ids` are those that the engine itself says it was given; `text` leaves out the end-of-turn
    token.
    `token_ids` (int32 [n]) and `logprobs` (float32 [n]) are of the generated tokens.
    """

    prompt_ids: list[int]
    token_ids: TokenIds
    logprobs: Logprobs
    text: str
    truncated: bool
    versions: tuple[VersionSpan, ...] = ()
    cached_tokens: int = 0


class TokenEngine(Protocol):
    @property
    def max_model_len(self) -> int:
        """Returns the largest length of prompt and generation together, in tokens."""
        ...

    async def generate(self, request: GenerationRequest) -> Generation:
        """Generates from token ids.
        Errors: EpisodeFailure: infra when the engine breaks or can't be reached, data for a grammar that it does not
        take.
        """
        ...
