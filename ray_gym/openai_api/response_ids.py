"""Names the answers that an agent is given by the Responses API: each id says where in the session's threads the answer
is, so nothing is kept.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

_PREFIX = "resp_"


@dataclass(frozen=True, slots=True)
class Place:
    """A place says that an answer is the last of the first `length` messages of a thread.

    `instructed`: the first of them are the call's instructions.
    """

    thread: str
    length: int
    instructed: bool = False

    def __str__(self) -> str:
        told = f"{self.length}:{int(self.instructed)}:{self.thread}"
        return _PREFIX + base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")

    @staticmethod
    def read(text: str) -> Place:
        """Reads an id. Errors: ValueError for a text that is no such id."""
        coded = text.removeprefix(_PREFIX)
        length, instructed, thread = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode().split(":", 2)
        return Place(thread, int(length), instructed == "1")
