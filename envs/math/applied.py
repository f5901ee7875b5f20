r"""Reads what stands before the value of an equation, and names it: `f(g(2)) = 7` and `f(-2) = 7` are 7, `C_4^2 = 6` is 6.

math-verify reads an applied function only if its argument is a plain number or a letter, and takes the others, and numbers of
combinations, for products of variables.
"""

from __future__ import annotations

import re

from ray_gym.envs.math.relations import EQUALS

_NUMBER = r"(?:\d{1,4}|\{\s?\d{1,4}\s?\})"
_INDEX = r"(?:\d|\{\s?\d{1,4}\s?\})"
_CHOSEN = re.compile(
    rf"(?<![A-Za-z\\])(?:\\text\s?\{{\s?(?P<upright>[CAP])\s?\}}|(?P<sign>[CAP]))\s?(?:_\s?(?P<all>{_INDEX})\s?\^\s?(?P<some>{_INDEX})"
    rf"|\^\s?(?P<first>{_INDEX})\s?_\s?(?P<second>{_INDEX}))"
    rf"|(?:(?:\{{\}})?[\^_]\s?(?P<before>{_NUMBER})\s?(?P<between>[CP])\s?_\s?(?P<behind>{_NUMBER})"
    r"|(?<![\w.])(?P<left>\d{1,4})(?P<plain>[CP])(?P<right>\d{1,4}))(?![\w_])"
)
"""Number of combinations (C) or arrangements (A, P)."""
_CALL = r"(?:'{1,3}|\^\s?\{\s?-1\s?\})?\((?:[-+*/.\d\s]|\u25a1)+\)"
_APPLIED = re.compile(rf"(?<![A-Za-z\\])[fghpqFGHPQ]{_CALL}")
"""Function of a number, which is written out or named itself."""
_SIZES = re.compile(r"\\(?:left|right)(?![A-Za-z])\s?")
_PLACE = "\u25a1"
"""Stands for a value that is named."""
_OF_NAMES = re.compile(rf"(?:[{_PLACE}\d\s.+*/(){{}}-]|\\(?:cdot|times|[dt]?frac)(?![A-Za-z]))*")
_DEEPEST = 9
"""Largest number of functions within one another."""


def without_applied(expression: str) -> str:
    """Returns an equation of one value without its first sides that have only numbers and functions of numbers; others as
    they are.
    """
    sides = EQUALS.split(expression)
    if "," in expression or _is_named(sides[-1]):
        return expression
    while len(sides) > 1 and _is_named(sides[0]):
        del sides[0]
    return "=".join(sides).strip()


def with_binomials(expression: str) -> str:
    r"""Returns an equation whose numbers of combinations and arrangements, but for those of its last side, are written as
    `\binom{4}{2}` and `\frac{4!}{2!}`; others as they are.
    """
    *sides, last = EQUALS.split(expression)
    return "=".join([*(_CHOSEN.sub(_written_out, side) for side in sides), last])


def _is_named(side: str) -> bool:
    named = _SIZES.sub("", side)
    for _ in range(_DEEPEST):
        named = _APPLIED.sub(_PLACE, named)
    return _PLACE in named and _OF_NAMES.fullmatch(named) is not None


def _written_out(found: re.Match[str]) -> str:
    """Returns combinations and arrangements of so many things, as there are; others as they are, since they are variables."""
    sign = found["upright"] or found["sign"] or found["between"] or found["plain"]
    pairs = (("all", "some"), ("first", "second"), ("before", "behind"), ("left", "right"))
    things, chosen = next(
        (int(found[one].strip("{} ")), int(found[other].strip("{} "))) for one, other in pairs if found[one] is not None
    )
    if sign == "C" and found["sign" if found["upright"] is None else "upright"]:
        things, chosen = max(things, chosen), min(things, chosen)
    elif found["first"] is not None:
        things, chosen = chosen, things
    if things < chosen:
        return found[0]
    return rf"\binom{{{things}}}{{{chosen}}}" if sign == "C" else rf"\frac{{{things}!}}{{{things - chosen}!}}"
