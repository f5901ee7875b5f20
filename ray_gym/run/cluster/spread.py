"""Spreads the workers of a run over the nodes: the next one goes where the fewest are. Pure: it is told of nodes and of
time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

DYING_S = 30.0
"""Seconds for which a node that just lost a worker is the last choice, as it may be dying: Ray takes some 15 s to
notice that a node is gone."""
APART = 2
"""Workers that a node must have fewer before one moves there: with 1, it would leave the same gap behind."""


@dataclass(slots=True)
class Spread:
    _at: dict[str, str] = field(default_factory=dict)
    """The node of each worker."""
    _lost_at: dict[str, float] = field(default_factory=dict)
    """Time at which a worker was last lost, by node."""
    _leaving: set[str] = field(default_factory=set)

    def choose(self, worker: str, nodes: Collection[str], now: float) -> str | None:
        """Returns the node for a worker that is about to be started; None if there is no node to choose."""
        counts = self._counts()
        found = min(nodes, key=lambda node: (self._may_be_dying(node, now), counts[node]), default=None)
        if found is not None:
            self._at[worker] = found
        return found

    def lose_worker(self, worker: str, now: float) -> None:
        node = self._at.pop(worker, None)
        self._leaving.discard(worker)
        if node is not None:
            self._lost_at[node] = now

    def release_worker(self, worker: str) -> None:
        """Forgets a worker that ended because it was told to."""
        self._at.pop(worker, None)
        self._leaving.discard(worker)

    def should_move(self, worker: str, nodes: Collection[str], now: float) -> bool:
        """Says whether the worker is to end, so that another takes its place on a node that has fewer. Once True for a
        worker, it stays so.
        """
        if worker in self._leaving:
            return True
        counts = self._counts()
        steady = [node for node in nodes if not self._may_be_dying(node, now)]
        here, fewest = counts[self._at.get(worker, "")], min((counts[node] for node in steady), default=None)
        if fewest is None or here - fewest - len(self._leaving) < APART:
            return False
        self._leaving.add(worker)
        return True

    def _counts(self) -> Counter[str]:
        return Counter(node for worker, node in self._at.items() if worker not in self._leaving)

    def _may_be_dying(self, node: str, now: float) -> bool:
        return now - self._lost_at.get(node, -DYING_S) < DYING_S
