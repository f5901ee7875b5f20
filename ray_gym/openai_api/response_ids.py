"""Makes the ids of the answers that an agent gets by the Responses API: each encodes the answer's thread and place, so
that no table of ids is needed.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

_PREFIX = "resp_"


@dataclass(frozen=True, slots=True)
class ResponseId:
    """Identifies an answer as the last of the first `length` messages of a thread. `str` gives the id that the agent
    gets.

    `instructed`: True if the first of these messages holds the instructions of the call.
    """

    thread: str
    length: int
    instructed: bool = False

    def __str__(self) -> str:
        told = f"{self.length}:{int(self.instructed)}:{self.thread}"
        return _PREFIX + base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")

    @staticmethod
    def read(text: str) -> ResponseId:
        """Decodes the id that an agent sends. Errors: ValueError for a text that is no such id."""
        coded = text.removeprefix(_PREFIX)
        length, instructed, thread = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode().split(":", 2)
        return ResponseId(thread, int(length), instructed == "1")
