"""What goes into an export, and what is left out and why: counted, so that nothing is missing unsaid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ray_gym.export.finished import Row


class LeftOut(Exception):
    """Why something has no place in an export; the text is what it is counted under."""


@dataclass
class Counts:
    episodes: int = 0
    written: int = 0
    """Lines."""
    left_out: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    """What a trainer should know of the lines that were written."""


def scored(rows: Iterable[Row], counts: Counts) -> Iterator[Row]:
    """The episodes that were played to their end and have a reward."""
    for row in rows:
        counts.episodes += 1
        if row["status"] == "completed" and row["reward"] is not None:
            yield row
        else:
            counts.left_out[f"episodes that {_ended(row['status'])}"] += 1


def _ended(status: str) -> str:
    return {"failed": "failed", "dropped": "were dropped with their group", "cancelled": "were cancelled"}.get(
        status, "have no reward"
    )
