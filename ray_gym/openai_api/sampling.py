"""Defines which sampling parameters a request over HTTP may change, and to which values."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, field_validator

LOWEST_LOGPROB = -9999.0
"""Logprob that is written in place of lower ones, by vLLM, too: JSON has no infinity."""
MOST_TOKENS = 1_000_000
"""Largest `max_tokens` that a model is asked for."""
Whole = Annotated[int, Strict()]
"""JSON integer: `true`, "1" and 1.5 are refused."""


Number = Annotated[float, Strict()]
"""JSON number: `true` and "1" are refused."""


class Request(BaseModel):
    """This is the base class of request bodies of the service's own API. It refuses unknown fields, as they are
    probably mistakes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class SamplingChange(Request):
    """Holds the sampling parameters that a request changes; None leaves the value of the service's config."""

    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[Whole, Field(ge=1), AfterValidator(lambda given: min(given, MOST_TOKENS))] | None = None
    """Larger ones than `MOST_TOKENS` count as this. What a model's context leaves is less."""
    top_p: Annotated[Number, Field(gt=0, le=1)] | None = None
    top_k: Annotated[Whole, Field(ge=-1, le=1_000_000)] | None = None
    """0 and -1 stand for all tokens."""
    min_p: Annotated[Number, Field(ge=0, le=1)] | None = None
    presence_penalty: Annotated[Number, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[Number, Field(ge=-2, le=2)] | None = None
    repetition_penalty: Annotated[Number, Field(gt=0, le=100)] | None = None
    stop: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=16)] | None = None

    @field_validator("top_k")
    @classmethod
    def _all_tokens(cls, value: int | None) -> int | None:
        """Returns 0 for -1, vLLM's other way to say all tokens; other values as they are."""
        return 0 if value == -1 else value
