"""Reads and writes times of one day as minutes since midnight. An event may end at 24:00, and none begins then."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

MIDNIGHT = 24 * 60

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_TWELVE_HOURS = re.compile(r"(1[0-2]|0?[1-9])(?::([0-5][0-9]))? ?([ap])\.?m\.?", re.IGNORECASE)


def read_clock(given: Any) -> int | None:
    """Returns the minutes since midnight of `HH:MM` or `H:MM`; None for anything else, also 24:00."""
    found = _CLOCK.fullmatch(given) if isinstance(given, str) else None
    return int(found[1]) * 60 + int(found[2]) if found else None


@lru_cache(maxsize=4096)
def read_time(text: str) -> int:
    """Returns the minutes since midnight of a time as task rows spell it: 14:30, 24:00, 9am or 1:30 pm.

    Errors: ValueError for any other text.
    """
    text = text.strip()
    minutes = MIDNIGHT if text == "24:00" else read_clock(text)
    found = _TWELVE_HOURS.fullmatch(text)
    if found:
        minutes = int(found[1]) % 12 * 60 + int(found[2] or 0) + 12 * 60 * (found[3] in "pP")
    if minutes is None:
        raise ValueError(f"{text!r} is no time of a day: write HH:MM, as in 14:30")
    return minutes


def show_time(minutes: int) -> str:
    """Writes minutes since midnight as HH:MM."""
    return f"{minutes // 60:02}:{minutes % 60:02}"
