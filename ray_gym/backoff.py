"""How long to wait before asking again what was not answered."""

from __future__ import annotations

import random


def pause_s(tried: int, first_s: float = 0.5, longest_s: float = 30.0) -> float:
    """Doubles each time; the jitter keeps thousands of episodes from coming back at the same instant."""
    return min(first_s * 2.0 ** min(tried, 30), longest_s) * random.uniform(0.5, 1.0)
