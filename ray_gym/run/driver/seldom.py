"""Decides which of many texts alike are told, so that nobody gets a line for each."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field

from ray_gym.hosting.room import SAY_S
from ray_gym.run.driver.failures import kind_of


@dataclass(slots=True)
class Seldom:
    """Counts texts by their kind, of which each is told once in `SAY_S` seconds."""

    _said_at: dict[str, float] = field(default_factory=dict)
    """Times (monotonic, seconds) at which a text of each kind was told last."""
    _unsaid: Counter[str] = field(default_factory=Counter)
    """Texts of each kind since then."""

    def take(self, text: str) -> int | None:
        """Returns how many texts of this kind were not told since the last that was, if this one is to be told now.
        Returns None, and counts it, if it is not.
        """
        kind, now = kind_of(text), time.monotonic()
        if now - self._said_at.get(kind, -math.inf) < SAY_S:
            self._unsaid[kind] += 1
            return None
        self._said_at[kind] = now
        return self._unsaid.pop(kind, 0)
