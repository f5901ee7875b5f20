r"""Reads a value that is given exactly and rounded: `6\pi \approx 18.85` is 18.85, too."""

from __future__ import annotations

import re
from decimal import Decimal
from math import prod

from sympy import Abs, Add, Expr, Mul, Number, NumberSymbol, Pow, binomial, exp, factorial, log, postorder_traversal
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import InverseTrigonometricFunction, TrigonometricFunction

_DECIMAL = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+")
_NEARLY = re.compile(r"\\approx(?:eq)?(?![A-Za-z])|[\u2248\u2245]")
_QUICK = (Number, NumberSymbol, Add, Mul, Pow, Abs, log, TrigonometricFunction, InverseTrigonometricFunction)
_POWERS = (Pow, exp, factorial, binomial, HyperbolicFunction)
_LARGEST_EXPONENT = 1000
_LARGEST_PRODUCT = 10_000
"""Largest product of the exponents in a value, which may stand within one another."""
_MOST_DIGITS = 100
"""Most digits of a value before its point, or zeros behind it."""
_ASKED = re.compile(
    r"\bround|\bnearest\b|\bapproximat|\bestimat|\bdecimal|\bsignificant\b|\babout how\b", re.IGNORECASE
)
_END = re.compile(r"\\text\w*\s?\{[^{}]*\}\s*\Z")


def exact_and_rounded(box: str) -> tuple[str, str] | None:
    """Returns what stands before the only sign for `nearly` in a box, and behind it; None for a box without one."""
    exact, *rounded = (part.strip(" $") for part in _NEARLY.split(box))
    return (exact, rounded[0]) if exact and len(rounded) == 1 and rounded[0] else None


def is_quick(value: Expr) -> bool:
    """Says whether a value is computed at once: one of numbers, roots, logarithms, functions of angles, and powers and the like
    with small exponents.
    """
    parts = list(postorder_traversal(value))
    exponents = [one for part in parts if isinstance(part, _POWERS) for one in part.args[isinstance(part, Pow) :]]
    written = prod(max(1, abs(one)) for one in exponents if isinstance(one, Number) and one.is_finite)
    are_small = written <= _LARGEST_PRODUCT and all(map(_is_small, exponents))  # inner ones first
    return are_small and all(isinstance(part, _QUICK + _POWERS) for part in parts)


def _is_small(exponent: Expr) -> bool:
    number = exponent.evalf()
    return isinstance(number, Number) and number.is_finite is True and abs(number) <= _LARGEST_EXPONENT


def asks_to_round(question: str) -> bool:
    """Says whether a question asks for a rounded value."""
    return _ASKED.search(question) is not None


def is_decimal(value: str) -> bool:
    """Says whether a value is a number that is written with its digits, which is no exact one if it was rounded."""
    return _DECIMAL.fullmatch(without_text(value).rpartition("=")[2].strip()) is not None


def without_text(value: str) -> str:
    r"""Returns a value without the unit, in `\text{...}`, at its end."""
    return _END.sub("", value).strip()


def is_rounding(value: Decimal, rounded: str, to_ones: bool = False) -> bool:
    """Says whether a number is a value rounded to its last digit; of a whole number, to the last that is not zero, or
    `to_ones`.
    """
    if not _DECIMAL.fullmatch(rounded) or abs(value.adjusted()) > _MOST_DIGITS:
        return False
    number = Decimal(rounded.replace(",", ""))
    last = number if to_ones or "." in rounded else number.normalize()
    return abs(value - number) <= Decimal("0.500001").scaleb(int(last.as_tuple().exponent))
