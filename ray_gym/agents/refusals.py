"""Counts the calls of a program that its door refused, and says of each kind how the first one was wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from ray_gym.openai_api.refused import Refused
from ray_gym.printable import beginning

LONGEST = 200
"""Most characters of a refusal's message that are told."""


@dataclass(slots=True)
class Refusals:
    """Holds the number of refusals since they were last told, by code, and the first message of each code."""

    counts: dict[str, int] = field(default_factory=dict)
    _first: dict[str, str] = field(default_factory=dict)

    def add(self, refused: Refused) -> None:
        """Counts a refusal."""
        self.counts[refused.code] = self.counts.get(refused.code, 0) + 1
        self._first.setdefault(refused.code, beginning(refused.message, LONGEST))

    def take(self) -> str | None:
        """Returns what is to be told, and forgets it; None if nothing was refused."""
        told = [f"{count} {code} ({self._first[code]})" for code, count in sorted(self.counts.items())]
        self.counts.clear()
        self._first.clear()
        return "; ".join(told) or None
