"""Defines what an environment's `score` may return."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import SupportsFloat, SupportsIndex


@dataclass(frozen=True, slots=True)
class Score:
    """A score is a reward, with named parts and other participants' rewards where an environment has them. No part is
    named `reward`, as that is the reward's own name in the record.
    """

    reward: float
    parts: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)


Scored = Score | float | Mapping[str, float]
"""The types that `score` may return: a number, named parts (their sum is the reward), or a `Score`."""


def as_score(value: Scored, returned: str = "score() returned") -> Score:
    """Converts the value that `score` returned (a number, named parts or a `Score`) to a `Score`. The sum of named
    parts is the reward. `returned`: the words before a wrong value in errors.

    Errors: TypeError if it is none of the three, ValueError if a number or the sum is not finite, if there are no parts,
    or if a name is `reward`, blank, or that of another number.
    """
    if isinstance(value, float):  # the common case first: the checks below take longer
        return Score(_number(value, returned))
    if isinstance(value, Score):
        parts, others = _parts(value.parts, returned), _numbers(value.others, returned)
        if isinstance(value.reward, Mapping):
            raise TypeError(
                f"{returned} a Score whose reward is named parts: return the parts alone, and the reward is their sum, or "
                f"write Score(reward=..., parts=...) (found {value.reward!r:.60})"
            )
        return Score(_number(value.reward, f"{returned} a Score whose reward is"), parts, others)
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{returned} no parts, of which the reward would be the sum; return 0.0 for no reward")
        parts = _parts(value, returned)
        return Score(_number(sum(parts.values()), returned, " as the sum of its parts"), parts)
    if isinstance(value, SupportsFloat):
        return Score(_number(value, returned))
    raise TypeError(f"{returned} {type(value).__name__}; expected a number, named parts or a Score")


def _parts(named: Mapping[str, float], returned: str) -> dict[str, float]:
    parts = _numbers(named, returned)
    if "reward" in parts:
        raise ValueError(f"{returned} a part named 'reward', which is the name of the reward itself: rename it")
    return parts


def _numbers(named: Mapping[str, float], returned: str) -> dict[str, float]:
    if not isinstance(named, Mapping):
        raise TypeError(f"{returned} parts that are no mapping of names to numbers: {named!r:.80}")
    if odd := [name for name in named if not isinstance(name, str | SupportsIndex | Enum)]:
        raise TypeError(f"{returned} a part whose name is no text but a {type(odd[0]).__name__}: {odd[0]!r:.60}")
    numbers = {_text(name): _number(value, returned, f" for {_text(name)}") for name, value in named.items()}
    if not all(name.strip() for name in numbers):
        raise ValueError(f"{returned} a number without a name: {list(named)!r:.80}")
    if len(numbers) < len(named):
        raise ValueError(f"{returned} two numbers under one name: {list(named)!r:.80}")
    return numbers


def _text(name: object) -> str:
    """Returns a part's name as a text. Of a member of an enumeration of texts that is its value."""
    return str.__str__(name) if isinstance(name, str) else format(name)


def _number(value: SupportsFloat, returned: str, whose: str = "") -> float:
    if not isinstance(value, SupportsFloat):  # float() would take a text, too
        raise TypeError(f"{returned} a {type(value).__name__}{whose}; expected a number: {value!r:.60}")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:  # an array or tensor of several numbers
        raise TypeError(
            f"{returned} a {type(value).__name__}{whose}; expected a number ({error}): {value!r:.60}"
        ) from None
    if not math.isfinite(number):
        raise ValueError(f"{returned} {number}{whose}, which is no reward")
    return number
