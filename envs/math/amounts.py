"""Takes units and words off an expected answer and a box, and finds what makes the box another answer."""

from __future__ import annotations

import re

from ray_gym.envs.math.applied import with_binomials, without_applied
from ray_gym.envs.math.bases import without_asked_base
from ray_gym.envs.math.endings import asks_for_molarity, counted_in, is_ending, without_place
from ray_gym.envs.math.equality import are_equal
from ray_gym.envs.math.notation import bare_expression, with_commas_alike, with_ratios_alike
from ray_gym.envs.math.number_words import with_digits
from ray_gym.envs.math.percentages import asks_for_percent, percentage_in_words, percentage_of
from ray_gym.envs.math.reading import read_alone
from ray_gym.envs.math.relations import EQUALS
from ray_gym.envs.math.remainders import without_modulus
from ray_gym.envs.math.scripts import LETTER
from ray_gym.envs.math.shown import short
from ray_gym.envs.math.unit_table import Powers, are_same_units
from ray_gym.envs.math.units import (
    CURRENCY,
    NUMBER_AND_UNIT,
    PLAIN_NUMBER,
    bare_quantity,
    has_other_symbols,
    have_same_units,
    split_quantity,
    with_micro_units,
    with_molar_units,
)

_GROUPED_WIDELY = re.compile(r"(?<=\d)(?:\\(?:q?quad|enspace|enskip)(?![A-Za-z])|,\\[,;: ])\s*(?=0\d\d(?!\d))")
"""Space that also stands between two numbers, before a group of digits that is no number of its own."""
_IN_SIGNS = frozenset({"%", "°|°C|°F"})
"""Units that math-verify reads, and that change a number."""
_TEXT = re.compile(r"\\text\{([^{}]*)\}")
NUMBER_AND_WORDS = re.compile(
    rf"({PLAIN_NUMBER.pattern})(?:\s+(?=[A-Za-z]{{3}})|\s*(?={LETTER})(?![A-Za-z]))((?:{LETTER}|[ ,./'\u2019-])+)"
)
_SECOND = re.compile(r"(?<=2)(?<!12)[n]d\Z")
"""Ending of a plain ordinal number of which math-verify makes letters."""
_JOINED = re.compile(r"\b(?:and|or)\b", re.IGNORECASE)
_FIRST_VALUE = re.compile(r"\d|\\(?:pi|infty)(?![A-Za-z])")


def compared(expected: str, box: str, question: str) -> tuple[str, str, str]:
    """Returns a bare expected answer and the inside of a box without their units and number words, and the reason why
    the box is another answer, or "".
    """
    expected, box = with_ratios_alike(*with_commas_alike(expected, box))
    box = _GROUPED_WIDELY.sub("", box) if _is_plain(expected) else box
    if PLAIN_NUMBER.fullmatch(expected):
        box = without_asked_base(box, question)
        box = without_modulus(box, question)
    boxed = without_place(with_digits(bare_expression(box), counted_in(question)), question)
    expected, boxed = with_micro_units(expected, boxed)
    expected, boxed = with_molar_units(expected, boxed, asks_for_molarity(question))
    expected, boxed = _without_named_sides(expected, boxed)
    boxed = bare_quantity(boxed) if _is_plain(expected) else boxed
    here, there = split_quantity(expected), split_quantity(boxed)
    if (more := _words_behind(boxed, expected, question)) is not None:
        return expected, boxed, f"{short(box)} has words behind a number that are no unit: {short(more)}"
    if (percent := equal_percentages(expected, boxed, question)) is not None:
        return *percent, ""
    if here is not None and there is not None:
        reason = "" if are_same_units(here[1], there[1]) else f"{short(box)} has another unit than {short(expected)}"
        return here[0], there[0], reason
    if not have_same_units(expected, boxed) if here is None else has_other_symbols(boxed, here[1]):
        return expected, boxed, f"{short(box)} has another unit than {short(expected)}"
    if here is not None and _is_plain(expected) and not _IN_SIGNS & here[1].keys():
        amount = _without_unit(boxed, there, here[0], question)
        if PLAIN_NUMBER.fullmatch(amount):
            return here[0], amount, ""
    return expected, _without_unit(boxed, there, expected, question), ""


def _without_named_sides(expected: str, boxed: str) -> tuple[str, str]:
    """Returns two bare expressions of which one is an equation without the sides that name its value, and with its numbers
    of combinations written out.
    """
    is_equation, is_other = (EQUALS.search(text) is not None for text in (expected, boxed))
    if is_equation == is_other:
        return expected, boxed
    return (without_applied(expected), boxed) if is_equation else (expected, with_binomials(without_applied(boxed)))


def equal_percentages(expected: str, boxed: str, question: str) -> tuple[str, str] | None:
    """Returns the numbers of an expected answer and a box of which one is a percentage, if they are equal and the question
    asks for percent; None otherwise. math-verify would read 0.5 % as another text than a half.
    """
    signed = [percentage_of(text) or percentage_in_words(text) for text in (expected, boxed)]
    if (signed[0] is None) == (signed[1] is None) or not asks_for_percent(question):
        return None
    gold, given = (number or text for number, text in zip(signed, (expected, boxed), strict=True))
    are_numbers = PLAIN_NUMBER.fullmatch(gold) and PLAIN_NUMBER.fullmatch(given)
    return (gold, given) if are_numbers and are_equal(read_alone(gold), read_alone(given)) else None


def _words_behind(boxed: str, expected: str, question: str) -> str | None:
    """Returns the first words behind a number in a bare box that may make another number of it, or deny it; None if
    there are none. `is_ending` says which words leave a number as it is.
    """
    if percentage_in_words(boxed):
        return None
    first = _FIRST_VALUE.search(boxed)
    is_single = is_one(expected)
    for found in _TEXT.finditer(boxed, first.end() if first else len(boxed)):
        words = found[1].strip()
        is_last = found.end() == len(boxed)
        if not is_ending(words, expected, question, is_last) or (is_single and not is_last and _JOINED.search(words)):
            return words
    plain = NUMBER_AND_WORDS.fullmatch(boxed) if PLAIN_NUMBER.fullmatch(expected) else None
    return plain[2] if plain is not None and not is_ending(plain[2], expected, question) else None


def _without_unit(boxed: str, quantity: tuple[str, Powers] | None, expected: str, question: str) -> str:
    """Returns a bare box without its unit, if a number is expected, and as a number what is not a percentage; the sign
    of a currency goes too. Otherwise percent is a sign. A percentage that the question doesn't ask for is a share of 1.

    `quantity`: number and unit of the box, if it has a unit.
    """
    if not PLAIN_NUMBER.fullmatch(expected):
        percent = percentage_in_words(boxed)
        return boxed if percent is None else f"{percent}\\%"
    if quantity is not None:
        if "%" not in quantity[1]:
            return quantity[0]
        is_share = quantity[1] == {"%": 1} and question and not asks_for_percent(question)
        return f"\\frac{{{quantity[0]}}}{{100}}" if is_share and PLAIN_NUMBER.fullmatch(quantity[0]) else boxed
    bare = _SECOND.sub("", CURRENCY.sub("", boxed))
    words = NUMBER_AND_WORDS.fullmatch(bare)
    if words is not None and is_ending(words[2], expected, question):
        return words[1]
    both = NUMBER_AND_UNIT.fullmatch(bare)
    return both[1] if both is not None and not both[2] else bare


def is_one(expected: str) -> bool:
    """Says whether a bare expected answer is one number or quantity."""
    return PLAIN_NUMBER.fullmatch(expected) is not None or split_quantity(expected) is not None


def _is_plain(expected: str) -> bool:
    """Says whether a bare expected answer is a plain number, with or without a unit."""
    return PLAIN_NUMBER.fullmatch((split_quantity(expected) or (expected,))[0]) is not None


def amount_of(expected: str) -> str:
    """Returns the number of a bare expected quantity; other expected answers, and percentages and temperatures, as they are."""
    quantity = split_quantity(expected)
    if quantity is None or _IN_SIGNS & quantity[1].keys() or not PLAIN_NUMBER.fullmatch(quantity[0]):
        return expected
    return quantity[0]
