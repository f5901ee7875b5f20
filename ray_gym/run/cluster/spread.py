"""Spreads the workers of a run over the nodes: the next worker goes to the node with the fewest. It asks neither the
cluster nor a clock: its caller passes the nodes and the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

DYING_S = 30.0
"""Seconds for which a node that just lost a worker is the last choice. It may be dying, which Ray notices after some 15
s."""
APART = 2
"""Difference in workers between two nodes at which one worker moves. With 1, the move would only swap the two."""


@dataclass(slots=True)
class Spread:
    """Counts the workers of each node, and chooses nodes by the counts. `now`: seconds of any monotonic clock."""

    _at: dict[str, str] = field(default_factory=dict)
    """Node of each worker."""
    _lost_at: dict[str, float] = field(default_factory=dict)
    """Time at which each node last lost a worker."""
    _leaving: set[str] = field(default_factory=set)
    """Workers that are about to move."""

    def choose(self, worker: str, nodes: Collection[str], now: float) -> str | None:
        """Returns the node with the fewest workers for a worker that is about to start, and counts it there. Nodes that
        lost a worker in the last `DYING_S` seconds are taken only if there are no others. Returns None if `nodes` is
        empty.
        """
        counts = self._counts()
        found = min(nodes, key=lambda node: (self._may_be_dying(node, now), counts[node]), default=None)
        if found is not None:
            self._at[worker] = found
        return found

    def lose_worker(self, worker: str, now: float) -> None:
        """Removes a worker that died, and marks its node as one that may be dying."""
        node = self._at.pop(worker, None)
        self._leaving.discard(worker)
        if node is not None:
            self._lost_at[node] = now

    def release_worker(self, worker: str) -> None:
        """Removes a worker that ended because it was told to."""
        self._at.pop(worker, None)
        self._leaving.discard(worker)

    def should_move(self, worker: str, nodes: Collection[str], now: float) -> bool:
        """Says whether a worker should end, so that another one starts on a node with at least `APART` fewer workers.
        Workers that are about to move count nowhere. Once True for a worker, it stays True until the worker is removed.
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
