"""Selects the episodes of an export, and counts those that are left out, by reason, so that nothing is missing unsaid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ray_gym.export.finished import Row


class LeftOut(Exception):
    """An export has no place for something; the text is the reason that it is counted under."""


@dataclass
class Counts:
    episodes: int = 0
    written: int = 0
    """Number of lines."""
    left_out: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    """Counts of remarks that a trainer should read about the lines that were written."""


def scored_episodes(rows: Iterable[Row], counts: Counts) -> Iterator[Row]:
    """Yields the episodes that were played to their end and have a reward; counts the others as left out."""
    for row in rows:
        counts.episodes += 1
        if row["status"] == "completed" and row["reward"] is not None:
            yield row
        else:
            counts.left_out[f"episodes that {_reason_left_out(row['status'])}"] += 1


def _reason_left_out(status: str) -> str:
    return {"failed": "failed", "dropped": "were dropped with their group", "cancelled": "were cancelled"}.get(
        status, "have no reward"
    )
