"""Reads bounds of numbers from the command line, as in `--reward '<0.5'`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from ray_gym.errors import UserError

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "==": operator.eq,
}
_BOUND = re.compile(r"\s*(<=|>=|!=|<|>|==?)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Bound:
    """Compares numbers with one number."""

    comparison: str
    number: float

    def __str__(self) -> str:
        """Returns the bound as it is written on the command line."""
        return f"{self.comparison}{self.number:g}"

    def allows(self, value: float | None) -> bool:
        """Says whether a value is within the bound. None, which stands for no value, never is."""
        return value is not None and _COMPARISONS[self.comparison](value, self.number)


def read_bound(text: str, option: str) -> Bound:
    """Returns the bound that a text says. `option`: name of the option, for the message. Errors: UserError for a text
    that is no comparison with a number.
    """
    found = _BOUND.fullmatch(text)
    try:
        number = float(found[2]) if found else math.nan
    except ValueError:
        number = math.nan
    if found is None or math.isnan(number):
        raise UserError(
            f"{option}: {text!r} is no comparison with a number; write it as '<0.5', '>=1' or '=0', in quotes"
        )
    return Bound(found[1], number)
