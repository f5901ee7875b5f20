"""Exports `ray_gym.models.model` and `ray_gym.models.engine` by the name that engines and players import."""

from ray_gym.models.engine import Engine, EngineCheck
from ray_gym.models.model import (
    NO_LOGPROBS,
    NO_TOKENS,
    Completion,
    CompletionRequest,
    FinishReason,
    Logprobs,
    Model,
    Sampling,
    SpanKind,
    TokenIds,
    VersionSpan,
)

__all__ = [
    "NO_LOGPROBS",
    "NO_TOKENS",
    "Completion",
    "CompletionRequest",
    "Engine",
    "EngineCheck",
    "FinishReason",
    "Logprobs",
    "Model",
    "Sampling",
    "SpanKind",
    "TokenIds",
    "VersionSpan",
]
