"""Chooses the source of each group of a mixture, so that the shares of the sources hold. It uses neither Ray nor a clock.

The source that is furthest behind its share of the groups is next. Only groups that were delivered count: a source whose
groups are dropped, or take long, keeps its share, and is waited for. After any number of groups, none is ahead of its
share by a whole group, and none behind by more than the number of sources less one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ray_gym.errors import UserError
from ray_gym.stream.options import StreamOptions


@dataclass(slots=True)
class Shares:
    """Counts the groups of each source, and chooses the next source from the counts alone."""

    wanted: dict[str, float]
    """Share of the groups that each source should have, by name; all together are 1."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of the groups of each source, by name."""

    @classmethod
    def of(cls, given: Mapping[str, float]) -> Shares:
        """Makes the shares from numbers above 0, of which only the ratios count. Errors: UserError for others."""
        if not given:
            raise UserError("shares: a mixture needs at least one source")
        for name, share in given.items():
            if not (share > 0 and math.isfinite(share)):
                raise UserError(
                    f"shares: {share:g} for {name}, but each is a number above 0; leave a source without one out"
                )
        whole = sum(given.values())
        return cls({name: share / whole for name, share in given.items()}, dict.fromkeys(given, 0))

    def choose(self) -> str:
        """Returns the source whose turn it is: the first of those that are furthest behind."""
        total = sum(self.counts.values()) + 1
        return max(self.wanted, key=lambda name: self.wanted[name] * total - self.counts[name])

    def count(self, name: str) -> None:
        """Notes that a group of a source was delivered."""
        self.counts[name] += 1


def options_of(options: StreamOptions, share: float, sources: int) -> StreamOptions:
    """Returns the options of a source from those of its mixture: bounds on numbers of groups become its part of them.

    A part is the most groups that the source has among as many groups of the mixture in a row, so that no source holds
    up a trainer that takes what the bounds allow.
    """

    def part(whole: int | None) -> int | None:
        return None if whole is None else min(whole, math.ceil(whole * share) + sources - 1)

    return replace(
        options,
        groups_per_version=part(options.groups_per_version),
        max_open_groups=part(options.max_open_groups),
    )
