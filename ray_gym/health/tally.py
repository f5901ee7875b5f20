"""Counts what the checks find, over all batches of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

EXAMPLES = 51
"""Most episodes of a kind that are kept: one more than a filter lists, so that it can say that there are more."""
Kind = tuple[str, str]
"""Kind of what was found, and a detail such as the name of a tool; the detail is "" where a kind has none."""


@dataclass(slots=True)
class Tally:
    """Holds the counts of a run. What is counted is episodes, but for kinds whose checks say otherwise."""

    found: Counter[Kind] = field(default_factory=Counter)
    of: Counter[Kind] = field(default_factory=Counter)
    """Number of those in which a kind could have been found."""
    examples: dict[Kind, list[str]] = field(default_factory=dict)
    """Ids of the first episodes in which a kind was found, each once."""

    def add(self, kind: str, episodes: Iterable[str], of: int, detail: str = "") -> None:
        """Counts the episodes (or the calls, each with its episode) in which a kind was found, and in how many it could
        have been.
        """
        key, count = (kind, detail), 0
        for episode in episodes:
            count += 1
            known = self.examples.setdefault(key, [])
            if len(known) < EXAMPLES and episode not in known:
                known.append(episode)
        self.found[key] += count
        self.of[key] += of
