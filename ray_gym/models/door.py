"""Defines the OpenAI-compatible door of a model: the requests that a gateway sends to a replica that speaks that
protocol itself.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")
"""Paths that are let through."""


class Door(Protocol):
    def answer(self, request: DoorRequest, session_id: str) -> AsyncGenerator[DoorPart, None]:
        """Answers a request, as a head and then the pieces of its body. Calls with the same `session_id` belong
        together. Errors: Refused.
        """
        ...


@dataclass(frozen=True, slots=True)
class DoorRequest:
    """Holds a POST. Headers of callers stay outside: some would change what an engine does."""

    path: str
    body: bytes
    """JSON, as the caller sent it."""


@dataclass(frozen=True, slots=True)
class DoorHead:
    status: int
    content_type: str


DoorPart = DoorHead | bytes
"""An answer is a head and then the pieces of its body."""
