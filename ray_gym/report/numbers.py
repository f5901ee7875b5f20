"""Says numbers as a person reads them, so that they stand in line in a column."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from ray_gym.statistics.interval import Interval

NONE = "\N{EN DASH}"
"""Stands for a number that there is not."""
BLANK = "(blank)"
LONGEST_NAME = 120
"""Most characters of a name that comes from data: of a tool, a stop reason, a task."""


def number(value: float | None) -> str:
    """Returns a number with some three digits after the point, or none for a large one."""
    if value is None or not math.isfinite(value):
        return NONE
    size = abs(value)
    digits = 3 if size < 10 else 1 if size < 1000 else 0
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def amount(value: float | None) -> str:
    """Returns an amount of things, or a mean of such, with no more digits than it takes to tell two apart."""
    if value is None or not math.isfinite(value):
        return NONE
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return f"{value:,.{digits}f}"


def plain(value: float) -> str:
    """Returns a number without zeros that say nothing, for axes and for rewards among words."""
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}").replace("-", "\N{MINUS SIGN}")


def percent(value: float | None) -> str:
    """Returns a share in per cent."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.1%}"


def count(value: int) -> str:
    """Returns a whole number with its thousands apart."""
    return f"{value:,}"


def of(amount: int, thing: str) -> str:
    """Returns an amount of things, as in `1 task` or `2,000 tasks`."""
    return f"{amount:,} {thing}" if amount == 1 else f"{amount:,} {thing}s"


Said: TypeAlias = Callable[[float | None], str]
"""Function that says a number."""


def bounds(interval: Interval | None, said: Said = number) -> str:
    """Returns the bounds of an interval, as in `0.41 to 0.63`; what stands for none if there is none."""
    if interval is None or interval.low is None or interval.high is None:
        return NONE
    return f"{said(interval.low)} to {said(interval.high)}"


def moment(seconds: float | None) -> str:
    """Returns a time in Unix seconds as a date and a time in UTC."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return NONE


def short(text: str | None, most: int = LONGEST_NAME) -> str:
    """Returns a text in one line of at most `most` characters."""
    line = " ".join((text or "")[: 4 * most].split())
    if text and not line:
        return BLANK
    return line if len(line) <= most else f"{line[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
