"""Describes packages that work formulas out."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "pocket desk little whole", "formulas sums calculator reckoner"),
        "power": rng.choice(("^", "!", "&")),
        "tokens": pick(rng, "tokens pieces parts"),
        "work_out": pick(rng, "work_out evaluate value_of"),
        "most": str(rng.choice((999, 9999))),
    }


FILES = {
    "__init__.py": '''
"""Works formulas of whole numbers out."""

from .reading import $tokens
from .values import $work_out, filled

__all__ = ["$tokens", "$work_out", "filled"]
''',
    "reading.py": '''
"""Takes a formula apart."""

SIGNS = "+-*/$power()"


def $tokens(text):
    """Returns the numbers (as int), names and signs of a formula in their order. Another character is a ValueError."""
    found, at = [], 0
    while at < len(text):
        character = text[at]
        if character == " ":
            at = at + 1
            continue
        end = at + 1
        if character.isdigit():
            while end < len(text) and text[end].isdigit():
                end = end + 1
            found.append(int(text[at:end]))
        elif character.isalpha():
            while end < len(text) and text[end].isalnum():
                end = end + 1
            found.append(text[at:end])
        elif character in SIGNS:
            found.append(character)
        else:
            raise ValueError("a formula has no such character")
        at = end
    return found
''',
    "values.py": '''
"""Works formulas out."""

from .reading import $tokens

MOST = $most
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "$power": 3}


def $work_out(text, names=None):
    """Returns the value of a formula. * and / bind more than + and -, and $power (a power) most; powers are taken from
    the right, all else from the left. / is rounded down; by 0 it is a ValueError, as is a name without a value, a
    formula that is not complete, and any value above $most.
    """
    if names is None:
        names = {}
    left = filled($tokens(text), names)
    value = _sum(left, 1)
    if left:
        raise ValueError("the formula goes on after its end")
    return value


def filled(tokens, names):
    """Returns a copy of the tokens with the values of names in their places. An unknown name is a ValueError."""
    found = list(tokens)
    for place, token in enumerate(found):
        if isinstance(token, str) and token.isalnum():
            if token not in names:
                raise ValueError("a name has no value")
            found[place] = names[token]
    return found


def _sum(left, least):
    value = _single(left)
    while left and STRENGTH.get(left[0], 0) >= least:
        sign = left.pop(0)
        strength = STRENGTH[sign]
        other = _sum(left, strength if sign == "$power" else strength + 1)
        value = _applied(sign, value, other)
    return value


def _single(left):
    if not left:
        raise ValueError("the formula is not complete")
    token = left.pop(0)
    if token == "-":
        return -_single(left)
    if token == "(":
        value = _sum(left, 1)
        if not left or left.pop(0) != ")":
            raise ValueError("a bracket is not closed")
        return value
    if not isinstance(token, int):
        raise ValueError("a number is missing")
    return token


def _applied(sign, one, other):
    if sign == "/" and other == 0:
        raise ValueError("nothing is divided by 0")
    if sign == "$power" and (other < 0 or other > 9):
        raise ValueError("a power is 0 to 9")
    if sign == "+":
        value = one + other
    elif sign == "-":
        value = one - other
    elif sign == "*":
        value = one * other
    elif sign == "/":
        value = one // other
    else:
        value = one ** other
    if value > MOST:
        raise ValueError("the value is too large")
    return value
''',
}


def _formula(rng: random.Random, power: str, depth: int = 0) -> str:
    if depth > 2 or rng.random() < 0.2:
        return rng.choice((str(rng.randint(0, 12)), str(rng.randint(1, 5)), "a", "b2", "-3"))
    sign = rng.choice(("+", "-", "-", "*", "/", power))
    if sign == power:
        return f"{rng.randint(1, 3)}{power}{rng.randint(0, 3)}" + rng.choice(("", f"{power}{rng.randint(0, 2)}"))
    inner = f"{_formula(rng, power, depth + 1)}{rng.choice((' ', ''))}{sign} {_formula(rng, power, depth + 1)}"
    return f"({inner})" if rng.random() < 0.3 else inner


def probe(rng: random.Random, names: Names) -> Probe:
    formula = _formula(rng, names["power"])
    kind = rng.randrange(5)
    if kind == 0:
        return Probe((), f"{names['tokens']}({formula + rng.choice(('', '', ' ', '?', 'x1'))!r})")
    if kind == 1:
        lines = (f"before = {names['tokens']}({formula!r})", "after = filled(before, {'a': 4, 'b2': 7})")
        return Probe(lines, "[before, after]")
    if kind == 2:
        odd = rng.choice(
            (
                "",
                "(1",
                "1 2",
                "1 +",
                "*2",
                "4 / 0",
                "4 / (2 - 2)",
                ")",
                f"2{names['power']}9",
                f"9{names['power']}9",
                "(1))",
                f"2{names['power']}10",
                f"{names['most']}",
                f"{names['most']} + 0",
                f"{names['most']} + 1",
            )
        )
        return Probe((), f"{names['work_out']}({odd!r})")
    values = rng.choice(("{'a': 4, 'b2': 7}", "{'a': 4, 'b2': 7}", "{'a': -2, 'b2': 3}", "{'a': 1}"))
    return Probe((), f"{names['work_out']}({formula!r}, {values})")


FORMULAS = Blueprint(
    "formulas", "It works formulas of whole numbers out.", draw, FILES,
    "from $package import $tokens, $work_out, filled", probe,
)  # fmt: skip
