"""Counts the clients' requests by route, with the answers' statuses and times."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class WrongAnswer(Exception):
    """Says that a client got another answer than it should have, or none."""


@dataclass(slots=True)
class RequestCounts:
    """Holds the times and the statuses of all answers, by route."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds that each answer took, by route."""
    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    errors: list[str] = field(default_factory=list)
    """Answers that no client should get."""

    def count_answer(self, route: str, status: int, seconds: float) -> None:
        self.seconds[route].append(seconds)
        self.statuses[route][status] += 1

    @property
    def requests(self) -> int:
        return sum(map(len, self.seconds.values()))

    @property
    def asked_to_wait(self) -> int:
        return sum(statuses[429] + statuses[503] for statuses in self.statuses.values())

    def lines(self) -> list[dict[str, Any]]:
        """Returns a line of the table for each route: its requests, their times in milliseconds, and their statuses."""
        return [
            {
                "route": route,
                "requests": len(seconds),
                "p50 ms": 1000 * float(np.quantile(seconds, 0.5)),
                "p99 ms": 1000 * float(np.quantile(seconds, 0.99)),
                "longest ms": 1000 * max(seconds),
                "answers": ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses[route].items())),
            }
            for route, seconds in sorted(self.seconds.items())
        ]
