"""Says whether two values that math-verify has read are equal."""

from __future__ import annotations

import re
from typing import Any

from math_verify import verify
from sympy import Eq, Set, Tuple

from ray_gym.envs.math.ordered import with_order
from ray_gym.envs.math.reading import read_alone
from ray_gym.envs.math.reduction import is_false, is_left_to_compute, is_left_to_solve, to_exact
from ray_gym.envs.math.relations import EQUALS
from ray_gym.envs.math.units import PLAIN_NUMBER

PLACES = 50
"""Decimal places to which values with roots or pi are compared."""
_EVALUATED = re.compile(r"\\(?:(?:[dt]?binom|d?choose|det)\b|begin\{[vV]matrix\})")
"""Commands that math-verify evaluates while it reads. Only the text shows that they were there."""
_IN_OTHER_UNITS = re.compile(r"\\(?:text|circ|%|[bp]?mod)|[°%]|mod")
"""Signs with which the numbers of an equation need not be the same."""
_BRACKET = re.compile(r"(?:[^({=]*(?:=|\\in\b)\s*)?(\\\{|\()")


def are_equal(gold: list[Any], given: list[Any]) -> bool:
    """Says whether two lists of values are equal. An unsolved relation and its solution are not; nor a pair, a set and a
    range of the same numbers; nor a value at the end of a false equation.

    `gold`, `given`: values as `read_alone` returns them, for the expected answer and the answer.
    """
    if _is_false(given) and not _is_false(gold):
        return False
    if is_left_to_solve(given[0], gold[0]) or {_bracket(gold), _bracket(given)} == {"(", "\\{"}:
        return False
    if (ordered := with_order(gold, given)) is None:
        return False
    exact_gold, exact_given = (
        [to_exact(one) for one in (value, *read[1:])] for value, read in zip(ordered, (gold, given), strict=True)
    )
    equal: bool = verify(
        exact_gold, exact_given, numeric_precision=PLACES, allow_set_relation_comp=True, timeout_seconds=None
    )
    return equal


def are_equal_alone(expected: str, answer: str) -> bool:
    """Says whether two bare expressions are the same text or have equal values."""
    gold, given = read_alone(expected), read_alone(answer)
    return expected == answer or bool(gold and given and are_equal(gold, given))


def is_left_unevaluated(read: list[Any]) -> bool:
    """Says whether a value as `read_alone` returns it is left to compute, also if math-verify has computed it."""
    text = str(read[-1])
    if _EVALUATED.search(text) is None:
        return is_left_to_compute(read[0])
    *others, last = EQUALS.split(text) if "," not in text else [text]
    if any(map(PLAIN_NUMBER.fullmatch, map(str.strip, others))):
        return is_left_to_compute(read[0])
    end = read_alone(last) if others else read
    return _EVALUATED.search(last) is not None or (bool(end) and is_left_to_compute(end[0]))


def _is_false(read: list[Any]) -> bool:
    return bool(read) and not _IN_OTHER_UNITS.search(str(read[-1])) and is_false(read[0])


def _bracket(read: list[Any]) -> str | None:
    """Returns the bracket, round or curly, around values that `read_alone` returned; None if there is none."""
    found = _BRACKET.match(str(read[-1]))
    return found[1] if found and isinstance(read[0], Set | Tuple | Eq) else None
