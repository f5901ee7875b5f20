"""Makes the ids of the answers that an agent gets by the Responses API: each says where in the session's threads the
answer is, so that no table of ids is needed.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

_PREFIX = "resp_"


@dataclass(frozen=True, slots=True)
class ResponseId:
    """Says that an answer is the last of the first `length` messages of a thread. As a string it is the id on the wire.

    `instructed`: the first of them are the call's instructions.
    """

    thread: str
    length: int
    instructed: bool = False

    def __str__(self) -> str:
        told = f"{self.length}:{int(self.instructed)}:{self.thread}"
        return _PREFIX + base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")

    @staticmethod
    def read(text: str) -> ResponseId:
        """Reads an id. Errors: ValueError for a text that is no such id."""
        coded = text.removeprefix(_PREFIX)
        length, instructed, thread = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode().split(":", 2)
        return ResponseId(thread, int(length), instructed == "1")
