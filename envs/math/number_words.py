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
_CARDINALS = {
    word: value
    for words, values in (
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
            " eighteen nineteen",
            range(20),
        ),
        ("twenty thirty forty fifty sixty seventy eighty ninety", range(20, 100, 10)),
    )
    for word, value in zip(words.split(), values, strict=True)
}
_CARDINAL = re.compile(
    r"(?:\\text\{\s?)?((?:negative|minus)\s)?([a-z]{3,9})(?:[ -]([a-z]{3,5}))?\s?\}?\.?", re.IGNORECASE
)
_PARTS = {
    **{"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8},
    **{"ninth": 9, "tenth": 10},
}
_FRACTION = re.compile(
    r"(?:\\text\{\s?)?(?P<minus>(?:negative|minus)\s)?(?:(?P<whole>[a-z]{3,9}(?:[ -][a-z]{3,5})?)\sand\s)?"
    rf"(?:(?P<over>an?|[a-z]{{3,9}})[ -](?:a\s)?(?P<part>{'|'.join(_PARTS)})s?|half)\s?\}}?\.?",
    re.IGNORECASE,
)
"""Fraction in words: two thirds, a half, two and a half."""
_SAID_TWICE = re.compile(
    r"(\d{1,2})\s{0,3}(?:\\text\{\s{0,3})?\(([A-Za-z -]{3,20})\)\s{0,3}\}?"
    r"|(?:\\text\s?\{\s{0,3})?([A-Za-z -]{3,20}?)\s{0,3}(?:\}\s{0,3})?\((\d{1,2})\)\s{0,3}\}?"
)
"""Number with itself in words behind it, or before it."""
_MOST_WORDS = 3
"""Largest number of number words one behind the other, as in `5 hundred thousand`."""


def with_digits(expression: str, counted: Set[str] = frozenset()) -> str:
    """Returns an expression whose number words behind numbers are digits, as is one that is a number below 100 in
    words, also behind the number itself or before it: `12 (twelve)`. So is a fraction in words, `two thirds`.
    Words that the question counts (`How many dozen`) are units, and stay.

    `counted`: words in lower case.
    """
    if (value := in_words(expression)) is not None:
        return number(value)
    twice = _SAID_TWICE.fullmatch(expression.strip())
    if twice is not None and cardinal(twice[2] or twice[3]) == int(digits := twice[1] or twice[4]):
        return digits
    for _ in range(_MOST_WORDS):
        written = _SCALED.sub(lambda found: _scaled(found, counted), expression)
        if written == expression:
            break
        expression = written
    return expression


def in_words(text: str) -> Fraction | None:
    """Returns the number, from -99 to 99, or the fraction that a text is in words; None for anything else."""
    found = _FRACTION.fullmatch(text.strip())
    if found is None:
        units = cardinal(text)
        return None if units is None else Fraction(units)
    whole = cardinal(found["whole"] or "zero")
    over = 1 if (found["over"] or "a").lower() in ("a", "an") else _CARDINALS.get(found["over"].lower(), 0)
    if whole is None or not over:
        return None
    value = whole + Fraction(over, _PARTS[(found["part"] or "half").lower()])
    return -value if found["minus"] else value


def cardinal(text: str) -> int | None:
    """Returns the number that a text is in words, from -99 to 99; None for anything else."""
    found = _CARDINAL.fullmatch(text.strip())
    if found is None:
        return None
    first, second = _CARDINALS.get(found[2].lower()), _CARDINALS.get((found[3] or "zero").lower())
    if first is None or second is None or (found[3] and not (first >= 20 and 1 <= second <= 9)):
        return None
    return -first - second if found[1] else first + second


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
