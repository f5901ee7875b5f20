"""The OpenAI-compatible door of a model: what a gateway asks of a replica that speaks that protocol itself."""

from __future__ import annotations

from dataclasses import dataclass

PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")
"""All that is let through."""


@dataclass(frozen=True, slots=True)
class DoorRequest:
    """A POST. Headers of callers stay outside: some would change what an engine does."""

    path: str
    body: bytes
    """JSON, as the caller sent it."""


@dataclass(frozen=True, slots=True)
class DoorHead:
    status: int
    content_type: str


DoorPart = DoorHead | bytes
"""An answer is a head and then the pieces of its body."""
