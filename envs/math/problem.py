"""Defines a problem, and draws numbers for problems."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class MathProblem:
    """A problem has one exact answer in LaTeX, which can't be copied from the question."""

    question: str
    answer: str


Family = Callable[[random.Random], MathProblem]
"""Function that draws one problem of a kind."""


def fraction(rng: random.Random) -> Fraction:
    """Draws a positive fraction that is no integer."""
    while True:
        value = Fraction(rng.randint(1, 30), rng.randint(2, 15))
        if value.denominator > 1:
            return value


def nonzero(rng: random.Random, largest: int) -> int:
    """Draws an integer other than 0 between `-largest` and `largest`."""
    return rng.choice((-1, 1)) * rng.randint(1, largest)
