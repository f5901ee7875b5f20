"""Tells whether the first episodes of a run show that all others will fail by the environment's own code, too.

Those that a driver begins first count, not those that end first: an episode that fails in its setup ends long before one
that waits for a model, so that all of the first to end may fail where few do. Nor does one task show what becomes of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ray_gym.run.lease import Lease, LeaseGroup

FIRST_FAILED, FIRST_ENDED, FIRST_STUCK = 16, 5, 3
"""Episodes that are enough if all failed, or losses of workers: fewer if episodes ended these, and the fewest if they were
stuck or overfilled, which takes half a minute each."""
FEWEST_TASKS = 4
"""Least number of tasks of episodes that failed without harm to their workers; losses are of as many tasks as there are."""


@dataclass(slots=True)
class FirstTries:
    """Notes the first episodes that a driver begins, and those that failed or were charged with the loss of a worker."""

    tasks: float = math.inf
    """Number of the run's tasks, of which a small run needs no more than it has."""
    _begun: dict[str, str] = field(default_factory=dict)
    """Groups of the first episodes, by the episode's id."""
    _failed: set[str] = field(default_factory=set)
    """Ids of the first episodes that failed."""
    _stuck: int = 0
    """Losses of workers that were stuck or overfilled, with which an episode was charged."""
    _stuck_groups: set[str] = field(default_factory=set)
    _stuck_alone: set[str] = field(default_factory=set)
    """Groups that were played alone, as suspects, which are tried one at a time. Others were found among many."""
    _ended: int = 0
    """Losses of workers that ended otherwise, with which an episode was charged, since it was played alone."""
    _ended_groups: set[str] = field(default_factory=set)

    def begin(self, groups: Iterable[LeaseGroup]) -> None:
        """Notes episodes that are begun now, unless enough were begun before."""
        for group in groups:
            if self._are_enough:
                return
            self._begun.update((lease.spec.episode_id, lease.spec.group_id) for lease in group)

    def fail(self, episode_id: str, sign: int = 1) -> None:
        """Notes that an episode failed by the environment's own code, or with `sign` -1 that its row was lost."""
        if sign < 0:
            self._failed.discard(episode_id)
        elif episode_id in self._begun:
            self._failed.add(episode_id)

    def charge(self, charged: Sequence[Lease], is_stuck: bool, is_alone: bool) -> None:
        """Notes a loss with which episodes are charged. `is_stuck`: the worker was stuck or overfilled. `is_alone`: they were
        played alone, as suspects.
        """
        groups = {lease.spec.group_id for lease in charged}
        if is_stuck:
            self._stuck += 1
            self._stuck_groups |= groups
            self._stuck_alone |= groups if is_alone else set()
        else:
            self._ended += 1
            self._ended_groups |= groups

    @property
    def losses(self) -> int:
        """Returns the number of losses with which an episode was charged."""
        return self._stuck + self._ended

    @property
    def are_hopeless(self) -> bool:
        """Says whether the first tries are enough, and have all failed by the environment's own code."""
        return self._have_failed or self._have_stuck or self._have_ended

    @property
    def _have_failed(self) -> bool:
        return self._are_enough and len(self._failed) == len(self._begun)

    @property
    def _have_ended(self) -> bool:
        return self._ended >= FIRST_ENDED and len(self._ended_groups) >= min(FIRST_ENDED, self.tasks)

    @property
    def _have_stuck(self) -> bool:
        fewest, first = min(FIRST_STUCK, self.tasks), list(dict.fromkeys(self._begun.values()))[:FIRST_STUCK]
        are_first = len(first) >= fewest and self._stuck_groups.issuperset(first)
        return self._stuck >= FIRST_STUCK and (are_first or len(self._stuck_alone) >= fewest)

    @property
    def _are_enough(self) -> bool:
        return len(self._begun) >= FIRST_FAILED and len(set(self._begun.values())) >= min(FEWEST_TASKS, self.tasks)
