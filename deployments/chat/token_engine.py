"""Token ids in, token ids out: what a completion needs of whatever runs the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ray_gym.models.base import Logprobs, Sampling, TokenIds, VersionSpan

OWN = "tools"
"""A grammar of our own, for the tools of an environment."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What holds a generation to a form; `kind` is vLLM's name for how `text` says it."""

    kind: Literal["structural_tag", "json"]
    text: str
    asked_by: str = OWN
    """The field of the request that it is made of."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    prompt_ids: list[int]
    sampling: Sampling
    max_tokens: int
    session_id: str
    grammar: Grammar | None = None
    keep_control_tokens: bool = False
    """Whether the text should spell control tokens, because a parser looks for them."""

    def sampling_fields(self) -> Mapping[str, Any]:
        """Under vLLM's names, which are the same in its API and over HTTP. All of them: what is left out a server fills in."""
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
    """`prompt_ids` is what the engine itself says that it was given; `text` leaves out the end-of-turn token."""

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
        """Prompt and generation together, in tokens."""
        ...

    async def generate(self, request: GenerationRequest) -> Generation:
        """Errors: EpisodeFailure: infra when the engine breaks or can't be reached, data for a grammar that it does not take."""
        ...
