"""What a problem is, and the numbers that problems are made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Problem:
    """`answer` is exact, and in LaTeX. It can't be had by copying a part of the question."""

    question: str
    answer: str


Family = Callable[[random.Random], Problem]
"""Draws one problem of a kind."""


def fraction(rng: random.Random) -> Fraction:
    """Positive, and no integer."""
    while True:
        value = Fraction(rng.randint(1, 30), rng.randint(2, 15))
        if value.denominator > 1:
            return value


def nonzero(rng: random.Random, largest: int) -> int:
    """An integer other than 0 between `-largest` and `largest`."""
    return rng.choice((-1, 1)) * rng.randint(1, largest)
