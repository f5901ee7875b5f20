"""Reads several quantities side by side: `3 hours 20 minutes`, `5' 6''`, `2 lb and 3 oz`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ray_gym.envs.math.unit_table import Powers, are_same_units, powers_of
from ray_gym.envs.math.units import PLAIN_NUMBER

Quantities = Sequence[tuple[str, Powers]]
"""Number and unit of each quantity."""
_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_JOINT = re.compile(r"[\s,]{0,9}(?:(?<![A-Za-z])and)?[\s,]{0,9}\Z")
_MOST = 6
"""Largest number of quantities side by side that are read."""
_TAIL = 120
"""Number of characters at the end of an answer in which its last quantities are looked for."""


def quantities_of(expression: str) -> Quantities:
    """Returns the quantities of an expression that has nothing else but `and` and commas between them; none if there are
    fewer than two.
    """
    plain = _TEXT.sub(r" \1 ", expression)
    numbers = list(PLAIN_NUMBER.finditer(plain))
    if not 2 <= len(numbers) <= _MOST or plain[: numbers[0].start()].strip():
        return []
    ends = [number.start() for number in numbers[1:]] + [len(plain)]
    units = [
        powers_of(_JOINT.sub("", plain[number.end() : end], count=1).strip())
        for number, end in zip(numbers, ends, strict=True)
    ]
    known = [(number[0], unit) for number, unit in zip(numbers, units, strict=True) if unit]
    return known if len(known) == len(numbers) else []


def compound_of(expression: str) -> Quantities:
    """Returns the quantities of an expression that make up one, as hours and minutes do; none if two of them have the same
    unit, which are a list.
    """
    found = quantities_of(expression)
    units = [unit for _, unit in found]
    is_list = any(are_same_units(one, other) for place, one in enumerate(units) for other in units[:place])
    return [] if is_list else found


def last_quantities(text: str) -> str | None:
    """Returns the quantities with which the last line of a text ends, as they are written in it; None if there are fewer than two."""
    tail = text.rstrip(" .\n").rpartition("\n")[2][-_TAIL:].replace("$", "")
    starts = (number.start() for number in PLAIN_NUMBER.finditer(tail))
    return next((tail[start:] for start in starts if quantities_of(tail[start:])), None)
