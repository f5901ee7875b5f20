"""Selects the episodes of an export, and counts those that are left out by their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ray_gym.export.finished import Row


class LeftOut(Exception):
    """Says that an export leaves a conversation, pair, sample or group out. Its text is the reason under which that is
    counted.
    """


@dataclass
class Counts:
    """Counts the lines of an export, and the things that it leaves out."""

    episodes: int = 0
    """Number of episodes that were read."""
    written: int = 0
    """Number of lines that were written."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Numbers of episodes, samples, pairs or groups that were left out, by reason."""
    notes: Counter[str] = field(default_factory=Counter)
    """Numbers of lines with a property that a trainer should know of, by its description."""
    damages: list[str] = field(default_factory=list)
    """Parts of the run that can't be read, each with the reason."""


@contextmanager
def leaving_out(counts: Counts) -> Iterator[None]:
    """Counts what the block leaves out, and goes on after the block."""
    try:
        yield
    except LeftOut as reason:
        counts.left_out[str(reason)] += 1


def scored_episodes(rows: Iterable[Row], counts: Counts) -> Iterator[Row]:
    """Yields the rows of completed episodes that have a reward. Counts the others as left out, in `counts`."""
    for row in rows:
        if row["status"] == "completed" and row["reward"] is not None:
            yield row
        else:
            counts.left_out[f"episodes that {_reason_left_out(row['status'])}"] += 1


def _reason_left_out(status: str) -> str:
    return {"failed": "failed", "dropped": "were dropped with their group", "cancelled": "were cancelled"}.get(
        status, "have no reward"
    )
