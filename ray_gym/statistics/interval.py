"""Defines estimates and their confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 0.95
"""Share of repetitions in which an interval holds the true value."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Holds an estimate from episodes of several tasks, with its standard error and its interval."""

    value: float
    se: float | None
    """Standard error; None if there is none to be had."""
    low: float | None
    high: float | None
    episodes: int
    tasks: int
    why_none: str = ""
    """Reason for which there is no interval; empty if there is one."""

    @property
    def excludes_zero(self) -> bool:
        """Says whether the interval lies on one side of 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)
