"""Reads the constraints on an event's time: before, after, between, at, or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from ray_gym.envs.calendar.clock import read_time, show_time

Kind = Literal["none", "before", "after", "between", "at"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_FORM = re.compile(r"(before|after|at) (.+)|(between) (.+) and (.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint limits the time of an event. `times` are minutes since midnight: none, one, or (for between) two."""

    kind: Kind = "none"
    times: tuple[int, ...] = ()

    def holds(self, start: int, end: int) -> bool:
        """Says whether an event from `start` to `end` (minutes since midnight) meets the constraint."""
        match self.kind:
            case "before":
                return end <= self.times[0]
            case "after":
                return start >= self.times[0]
            case "between":
                return self.times[0] <= start and end <= self.times[1]
            case "at":
                return start == self.times[0]
            case "none":
                return True

    def name_times(self) -> list[str]:
        """Returns the times of the constraint as HH:MM."""
        return [show_time(time) for time in self.times]

    def __str__(self) -> str:
        return f"{self.kind} {' and '.join(self.name_times())}".strip()


@lru_cache(maxsize=4096)
def read_constraint(text: str | None) -> Constraint:
    """Returns the constraint that a text tells: `before 14:00`, `between 9am and 11:30` and the like.

    None, an empty text and `none` are no constraint. Errors: ValueError for any other text, and for a `between` whose
    first time is not before the second.
    """
    text = (text or "none").strip()
    if text.lower() in ("none", ""):
        return Constraint()
    found = _FORM.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no constraint: write before T, after T, at T, between T and T, or none")
    if found[3]:
        first, second = read_time(found[4]), read_time(found[5])
        if first >= second:
            raise ValueError(f"{text!r} leaves no time: {show_time(first)} is not before {show_time(second)}")
        return Constraint("between", (first, second))
    kinds: dict[str, Kind] = {"before": "before", "after": "after", "at": "at"}
    return Constraint(kinds[found[1].lower()], (read_time(found[2]),))
