"""Tells a power that is a way to write a number (`10^6`) from one that is a computation (`6^2`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log10
from typing import Any

from sympy import Eq, Integer, Mul, Pow
from sympy.logic.boolalg import And

LARGEST_EXPONENT = 10_000
"""Largest exponent, above or below zero, of a power that counts as a number."""
LONGEST_BASE = 30
"""Largest number of digits of its base."""
_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_UNSEEN = re.compile(r"[\s{}()$]|\\left|\\right|\\[,;:! ]")
_POWER = re.compile(r"(?<![\d.,^])-?(\d+)(?:\^|\*\*)(-?\d+)")


def is_number_as_power(written: Any, question: str) -> bool:
    """Says whether an expression is a power of a whole number that takes fewer digits than its value, as `2^{10}` does,
    or such a one with a minus, or an equation that ends with it. The powers of a question are its computations.

    No power is carried out here, however large it is.
    """
    while isinstance(written, And):
        written = written.args[-1]
    if isinstance(written, Eq):
        return is_number_as_power(written.rhs, question)
    if isinstance(written, Mul):
        factors = [factor for factor in written.args if factor != -1]
        return len(factors) == 1 and is_number_as_power(factors[0], question)
    if not isinstance(written, Pow):
        return False
    base, exponent = _whole(written.base), _whole(written.exp)
    if base is None or exponent is None or abs(exponent) > LARGEST_EXPONENT:
        return False
    return _is_shorter(abs(base), exponent) and (abs(base), exponent) not in set(_powers_in(question))


def _is_shorter(base: int, exponent: int) -> bool:
    """Says whether base and exponent have fewer digits than the value of their power, which is only estimated."""
    if base < 2 or len(str(base)) > LONGEST_BASE or (exponent < 0 and base != 10):
        return False
    digits = int(abs(exponent) * log10(base) + 1e-9) + 1
    return len(str(base)) + len(str(abs(exponent))) < digits


def _whole(written: Any) -> int | None:
    """Returns a whole number that an expression is; None if it is none."""
    if isinstance(written, Mul):
        parts = [_whole(part) for part in written.args]
        return -parts[1] if len(parts) == 2 and parts[0] == -1 and parts[1] is not None else None
    return int(written) if isinstance(written, Integer) else None


def _powers_in(question: str) -> Iterator[tuple[int, int]]:
    """Yields the base and the exponent of each power of whole numbers in a question."""
    plain = _RAISED.sub(lambda found: f"^{found[0].translate(_LOWERED)}", question)
    for base, exponent in _POWER.findall(_UNSEEN.sub("", plain)):
        if len(base) <= LONGEST_BASE and len(exponent) <= LONGEST_BASE:
            yield int(base), int(exponent)
