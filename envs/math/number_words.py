r"""Writes number words behind numbers as digits: `5 million` is 5000000, and `3\text{ tenths}` is `\frac{3}{10}`."""

from __future__ import annotations

import re
from collections.abc import Set
from fractions import Fraction

from ray_gym.envs.math.latex import number

_VALUES = {
    **{"dozen": Fraction(12), "hundred": Fraction(100), "thousand": Fraction(1000), "lakh": Fraction(10**5)},
    **{"million": Fraction(10**6), "crore": Fraction(10**7), "billion": Fraction(10**9), "trillion": Fraction(10**12)},
    **{"tenth": Fraction(1, 10), "hundredth": Fraction(1, 100), "thousandth": Fraction(1, 1000)},
    **{"millionth": Fraction(1, 10**6), "billionth": Fraction(1, 10**9)},
}
NUMBER_WORDS = frozenset(_VALUES)
"""Number words, in the singular, that `with_digits` reads."""
_NUMBER = r"\\[dtc]?frac\s?\{\d{1,40}\}\s?\{\d{1,40}\}|\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,40})?|\d{1,40}(?:\.\d{1,40})?|\.\d{1,40}"
_SCALED = re.compile(
    rf"(?<![\w.,^])({_NUMBER})\s{{0,3}}(\\text\{{\s{{0,3}})?(?i:({'|'.join(_VALUES)})s?)(?![A-Za-z])(\s{{0,3}}\}})?"
)
_MOST_WORDS = 3
"""Largest number of number words one behind the other, as in `5 hundred thousand`."""


def with_digits(expression: str, counted: Set[str] = frozenset()) -> str:
    """Returns an expression whose number words behind numbers are digits. Words that the question counts (`How many
    dozen`) are units, and stay.

    `counted`: words in lower case.
    """
    for _ in range(_MOST_WORDS):
        written = _SCALED.sub(lambda found: _scaled(found, counted), expression)
        if written == expression:
            break
        expression = written
    return expression


def _scaled(found: re.Match[str], counted: Set[str]) -> str:
    word = found[3].lower()
    if counted & {word, f"{word}s"}:
        return found[0]
    over, *under = [Fraction(part) for part in re.findall(r"\d*\.?\d+", found[1].replace(",", ""))]
    if under == [0]:
        return found[0]
    value = number(over / (under[0] if under else 1) * _VALUES[word])
    opened, closed = found[2] or "", found[4] or ""
    return value if opened and closed else f"{value}{opened or ' '}{closed}".rstrip(" ")
