"""Tells whether the first episodes of a run show that all others will fail by the environment's own code, too.

Those that a driver begins first count, not those that end first: an episode that fails in its setup ends long before one
that waits for a model, so that all of the first to end may fail where few do. Nor does one task show what becomes of others,
or one sample what becomes of a large group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ray_gym.run.lease import Lease, LeaseGroup

FIRST_FAILED, FIRST_ENDED, FIRST_STUCK = 16, 5, 3
"""Episodes that are enough if all failed, or tasks whose episodes were charged with losses of workers: fewer if they ended
these, and the fewest if they were stuck or overfilled, which takes half a minute each. A run that goes on where earlier
drivers had good episodes has to lose as many tasks as episodes fail."""
FEWEST_TASKS = 4
"""Least number of tasks of episodes that failed without harm to their workers; losses are of as many tasks as there are."""
_FEWEST_SAMPLES, _SHARE = 3, 8
"""Least number of charged samples, of one in so many, by which a group counts as lost."""


def is_lost(charged: int, size: int) -> bool:
    """Says whether a group of `size` samples has so many that are charged with losses of workers that its task is bad."""
    return charged >= min(size, max(_FEWEST_SAMPLES, size // _SHARE))


@dataclass(slots=True)
class FirstTries:
    """Notes the first episodes that a driver begins, and those that failed or were charged with the loss of a worker."""

    tasks: float = math.inf
    """Number of the run's tasks, of which a small run needs no more than it has."""
    goes_on: bool = False
    """True if earlier drivers of the run have completed episodes."""
    losses: int = 0
    """Number of losses with which an episode was charged."""
    _begun: dict[str, str] = field(default_factory=dict)
    """Groups of the first episodes, by the episode's id, but for those whose worker was lost by another one's doing."""
    _sizes: dict[str, int] = field(default_factory=dict)
    """Number of samples of each group."""
    _failed: set[str] = field(default_factory=set)
    """Ids of the first episodes that failed."""
    _charged: dict[str, set[str]] = field(default_factory=dict)
    """Ids of charged episodes, by group."""
    _stuck: dict[str, set[str]] = field(default_factory=dict)
    """Ids of those whose workers were stuck or overfilled, by group."""

    def begin(self, groups: Iterable[LeaseGroup]) -> None:
        """Notes episodes that are begun now, unless enough were begun before, or earlier drivers' losses are charged to them."""
        for group in groups:
            if len(set(self._begun.values())) >= FIRST_FAILED:
                return
            name = group[0].spec.group_id
            self._begun.update((one.spec.episode_id, name) for one in group if one.charged is None)
            self._sizes[name] = max(len(group), self._sizes.get(name, 0))

    def fail(self, episode_id: str, sign: int = 1) -> None:
        """Notes that an episode failed by the environment's own code, or with `sign` -1 that its row was lost."""
        if sign < 0:
            self._failed.discard(episode_id)
        elif episode_id in self._begun:
            self._failed.add(episode_id)

    def lose(self, held: Iterable[str], charged: Sequence[Lease], is_stuck: bool) -> None:
        """Notes the loss of a worker that held episodes with these ids. Those that are not charged with it have shown
        nothing, and are begun anew. `is_stuck`: the worker was stuck or overfilled.
        """
        self.losses += bool(charged)
        for lease in charged:
            for noted in (self._charged, self._stuck) if is_stuck else (self._charged,):
                noted.setdefault(lease.spec.group_id, set()).add(lease.spec.episode_id)
        for episode_id in held:
            group = self._begun.get(episode_id, "")
            if episode_id not in self._charged.get(group, ()) and episode_id not in self._failed:
                self._begun.pop(episode_id, None)

    @property
    def are_hopeless(self) -> bool:
        """Says whether the first tries are enough, and have all failed by the environment's own code."""
        return (
            self._have_failed or self._are_lost(self._stuck, FIRST_STUCK) or self._are_lost(self._charged, FIRST_ENDED)
        )

    @property
    def _have_failed(self) -> bool:
        groups: set[str] = set()
        for count, (episode_id, group) in enumerate(self._begun.items(), 1):
            if episode_id not in self._failed:
                return False
            groups.add(group)
            if count >= FIRST_FAILED and len(groups) >= self._at_least(FEWEST_TASKS):
                return True
        return False

    def _are_lost(self, charged: dict[str, set[str]], count: int) -> bool:
        count = FIRST_FAILED if self.goes_on else count
        first = list(dict.fromkeys(self._begun.values()))[:count]
        tries = self.losses + len(self._failed)
        if not charged or tries < count or len(first) < self._at_least(count):
            return False
        return all(is_lost(len(charged.get(one, ())), self._sizes[one]) or self._has_failed(one) for one in first)

    def _has_failed(self, group: str) -> bool:
        return all(episode_id in self._failed for episode_id, one in self._begun.items() if one == group)

    def _at_least(self, tasks: int) -> float:
        return tasks if self.goes_on else min(tasks, self.tasks)
