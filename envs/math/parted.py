"""Compares answers of several parts whose order counts: ratios of three, quotients with remainders, ranges, times of
day, and lists in an order that the question asks for. As expressions, they would be quotients, products, differences
and sets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from ray_gym.envs.math.endings import is_ending

_RATIO = re.compile(r"\d{1,15}(?:\s?:\s?\d{1,15}){2,9}")
_REMAINDER = re.compile(
    r"(\d{1,30})\s{0,3},?\s{0,3}(?:\\text\{\s?)?(?:R|r|rem\.?|remainder)\s?:?\s?\}?\s{0,3}(?:of\s)?(\d{1,30})"
)
_CLOCK = re.compile(
    r"(\d{1,2})\s?(?:\{:\}|:)\s?([0-5]\d)(?:\s{0,3}(?:\\text\{\s?)?([ap])\.?\s?m\.?\s?\}?)?", re.IGNORECASE
)
_ASKS_FOR_TIME = re.compile(
    r"\b(?:what|which) time\b|\btime (?:is|was|will|does|did)\b|o['\u2019]clock|\b[ap]\.?m\b|\bclock\b", re.IGNORECASE
)
_RANGE = re.compile(r"(\d{1,15})\s?(?:-{1,2}|\\text\s?\{\s?(?:-{1,2}|to)\s?\}|\bto\b)\s?(\d{1,15})")
"""Range from a number to a larger one. With `to`, an expected answer may be a ratio."""
_RANGE_OF = re.compile(rf"{_RANGE.pattern}(?:\s?\\text\s?\{{([^{{}}]*)\}}|\s?([A-Za-z]+))?")
"""Range with its unit, if it has any."""
_FEWEST = "least|smallest|lowest|shortest|youngest|lightest|slowest|cheapest"
_MOST = "greatest|largest|biggest|highest|tallest|longest|oldest|heaviest|fastest|most"
_ASKS_FOR_ORDER = re.compile(
    rf"\b(?:{_FEWEST}|{_MOST}) to (?:the )?(?:{_FEWEST}|{_MOST})\b"
    r"|\b(?:arrange|sort|rank)\b[^.?]{0,200}\b(?:ascending|descending|increasing|decreasing)\b",
    re.IGNORECASE,
)
_ENUMERATED = re.compile(r"[^(){}\[\]]+,[^(){}\[\]]+")


def are_same_parts(expected: str, answer: str, question: str, are_equal: Callable[[str, str], bool]) -> bool | None:
    """Says whether a bare answer has the parts of the expected one, in its order; None if the expected answer has no such
    parts. `are_equal`: compares two parts of a list.
    """
    if _RATIO.fullmatch(expected):
        return _RATIO.fullmatch(answer) is not None and _lowest(expected) == _lowest(answer)
    if (divided := _REMAINDER.fullmatch(expected)) is not None:
        given = _REMAINDER.fullmatch(answer)
        return given is not None and divided.groups() == given.groups()
    if (ends := _RANGE.fullmatch(expected)) is not None and "to" not in expected and int(ends[1]) < int(ends[2]):
        given = _RANGE_OF.fullmatch(answer)
        is_unit = given is not None and is_ending(given[3] or given[4] or "", expected, question)
        return given is not None and is_unit and ends.groups() == given.groups()[:2]
    if (time := _CLOCK.fullmatch(expected)) is not None and _ASKS_FOR_TIME.search(question):
        said = _CLOCK.fullmatch(answer)
        halves = {found[3].lower() for found in (time, said) if found and found[3]}
        return said is not None and (int(time[1]), time[2]) == (int(said[1]), said[2]) and len(halves) < 2
    if _ENUMERATED.fullmatch(expected) and _ENUMERATED.fullmatch(answer) and _ASKS_FOR_ORDER.search(question):
        wanted, given_parts = ([part.strip() for part in text.split(",")] for text in (expected, answer))
        return len(wanted) == len(given_parts) and all(map(are_equal, wanted, given_parts))
    return None


def _lowest(ratio: str) -> list[Fraction]:
    """Returns the parts of a ratio as shares of their sum; their zeros alone if all are zero."""
    parts = [int(part) for part in ratio.split(":")]
    return [Fraction(part, sum(parts) or 1) for part in parts]
