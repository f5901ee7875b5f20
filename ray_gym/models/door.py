"""Defines the OpenAI-compatible door of a model: the requests that a gateway forwards to it, and the parts of its
answers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")
"""Paths of requests that a door forwards."""


class Door(Protocol):
    def answer(self, request: DoorRequest, session_id: str) -> AsyncGenerator[DoorPart, None]:
        """Yields the answer to a request: a head, and then the pieces of its body. Calls with the same `session_id`
        belong to one conversation. Errors: Refused if the request is refused, or the model can't answer it.
        """
        ...


@dataclass(frozen=True, slots=True)
class DoorRequest:
    """Holds a POST request: its path and its body. The caller's headers are left out, since some would change what an
    engine does.
    """

    path: str
    body: bytes
    """JSON, as the caller sent it."""


@dataclass(frozen=True, slots=True)
class DoorHead:
    status: int
    content_type: str


DoorPart = DoorHead | bytes
"""Part of an answer: first its head, then the pieces of its body."""
