r"""Leaves out left sides of equations that name a value: `f(g(2)) = 7` and `f(-2) = 7` are 7, `C_4^2 = 6` is 6.

math-verify reads an applied function only if its argument is a plain number or a letter, and takes the others for products of
variables.
"""

from __future__ import annotations

import re

from ray_gym.envs.math.relations import EQUALS

_NUMBER = r"(?:\d|\{\s?\d{1,4}\s?\})"
_CHOSEN = re.compile(
    rf"(?<![A-Za-z\\])(?:\\text\s?\{{\s?[CAP]\s?\}}|[CAP])\s?(?:_\s?{_NUMBER}\s?\^\s?{_NUMBER}|\^\s?{_NUMBER}\s?_\s?{_NUMBER})"
    rf"|(?:(?:\{{\}})?[\^_]\s?{_NUMBER}|(?<![\w.])\d{{1,4}})\s?[CP]\s?(?:_\s?{_NUMBER}|\d{{1,4}}(?![\w_]))"
)
"""Number of combinations or arrangements."""
_APPLIED = re.compile(
    rf"(?<![A-Za-z\\])(?P<name>[fghpquvFGHPQRST])(?:'{{1,3}}|\^\s?\{{\s?-1\s?\}}|_\s?{_NUMBER})*\((?:(?!(?P=name))[^()=])+\)"
)
"""Function of an argument in which its own letter, which would be a variable, does not occur."""
_SIZES = re.compile(r"\\(?:left|right)(?![A-Za-z])\s?")
_PLACE = "\u25a1"
"""Stands for a value that is named."""
_OF_NAMES = re.compile(rf"(?:[{_PLACE}\d\s.+*/(){{}}-]|\\(?:cdot|times|[dt]?frac)(?![A-Za-z]))*")
_DEEPEST = 9
"""Largest number of functions within one another."""


def without_applied(expression: str) -> str:
    """Returns the last sides of an equation, without the first ones that have only numbers, combinations and functions of
    something, at least one of which is no number; others as they are.
    """
    sides = EQUALS.split(expression)
    if "," in expression:
        return expression
    while len(sides) > 1 and _is_named(sides[0]):
        del sides[0]
    return "=".join(sides).strip()


def _is_named(side: str) -> bool:
    named = _CHOSEN.sub(_PLACE, _SIZES.sub("", side))
    for _ in range(_DEEPEST):
        named = _APPLIED.sub(_PLACE, named)
    return _PLACE in named and _OF_NAMES.fullmatch(named) is not None
