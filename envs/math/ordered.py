r"""Tells ranges, sets of solutions and values in an order apart, which math-verify takes for one another: `2 < x < 3`,
`x = 2, x = 3`, `2, 3` and `(3, 2)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

from sympy import Eq, FiniteSet, Interval, Symbol, Tuple
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from ray_gym.envs.math.reduction import in_order


class Kind(Enum):
    """Tells what several values are."""

    RANGE = auto()
    """Inequality, or an interval in which a variable is."""
    SOLUTIONS = auto()
    """Set in braces, or several values of one variable."""
    NAMED = auto()
    """Values of several variables."""
    LIST = auto()
    """Values without names and brackets, which may be solutions or in an order."""
    PAIR = auto()
    """Values in round brackets, or an open interval, which is written alike."""


_DIFFERENT = (
    {Kind.RANGE, Kind.SOLUTIONS},
    {Kind.RANGE, Kind.NAMED},
    {Kind.RANGE, Kind.LIST},
    {Kind.SOLUTIONS, Kind.PAIR},
    {Kind.SOLUTIONS, Kind.NAMED},
)
_IN_ORDER = ((Kind.NAMED, Kind.PAIR), (Kind.NAMED, Kind.LIST), (Kind.LIST, Kind.PAIR))
"""Kinds of an expected answer and an answer of which math-verify would overlook the order."""
_IN = re.compile(r"\\in(?![A-Za-z])|\u2208")


def with_order(gold: Sequence[Any], given: Sequence[Any]) -> tuple[Any, Any] | None:
    """Returns an expected value and an answer's, as tuples where their order counts; None if their kinds differ.

    `gold`, `given`: a value that math-verify read, and at the end the text of it.
    """
    kinds = _kind(gold[0], str(gold[-1])), _kind(given[0], str(given[-1]))
    if set(kinds) in _DIFFERENT:
        return None
    return (_values(gold[0]), _values(given[0])) if kinds in _IN_ORDER else (gold[0], given[0])


def _kind(value: Any, written: str) -> Kind | None:
    if isinstance(value, FiniteSet):
        return _kind_of_set(value, written)
    if isinstance(value, Tuple) or (isinstance(value, Interval) and value.is_open):
        return Kind.PAIR
    if isinstance(value, Eq):
        is_range = isinstance(value.lhs, Symbol) and isinstance(value.rhs, Interval) and _IN.search(written)
        return Kind.RANGE if is_range else None
    return Kind.RANGE if _is_inequality(value) else None


def _kind_of_set(value: FiniteSet, written: str) -> Kind | None:
    parts = in_order(value)
    names = {part.lhs for part in parts if isinstance(part, Eq)}
    if not names and not any(isinstance(part, Boolean) for part in parts):
        return Kind.SOLUTIONS if written.lstrip().startswith("\\{") else Kind.LIST
    if not all(isinstance(part, Eq) and isinstance(part.lhs, Symbol) and part.lhs.name.isalpha() for part in parts):
        return None
    if len(names) == 1:
        return Kind.SOLUTIONS
    return Kind.NAMED if len(names) == len(parts) else None


def _is_inequality(value: Any) -> bool:
    if isinstance(value, Relational):
        return not isinstance(value, Eq)
    return isinstance(value, Boolean) and bool(value.args) and all(_is_inequality(part) for part in value.args)


def _values(value: Any) -> Any:
    if isinstance(value, Interval):
        return Tuple(value.start, value.end)
    return Tuple(*(part.rhs if isinstance(part, Eq) else part for part in in_order(value)))
