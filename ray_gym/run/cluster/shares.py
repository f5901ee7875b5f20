"""Counts, for each node, the workers of a run and the episodes that they finished."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class NodeShares:
    """Counts, for each node, its workers and their committed episodes."""

    addresses: dict[str, str] = field(default_factory=dict)
    """Addresses of all nodes that were seen, by id."""
    _workers: dict[str, str] = field(default_factory=dict)
    """Node of each worker."""
    _episodes: Counter[str] = field(default_factory=Counter)
    """Committed episodes by node."""

    def add_worker(self, worker: str, node: str) -> None:
        """Records the node of a worker."""
        self._workers[worker] = node

    def count_committed(self, worker: str, episodes: int) -> None:
        """Adds `episodes` to the number of committed episodes of the worker's node."""
        self._episodes[self._workers.get(worker, "")] += episodes

    def summary(self) -> list[dict[str, Any]]:
        """Returns one dictionary (node, address, workers, episodes) for each node that has had a worker, sorted by
        address.
        """
        workers = Counter(self._workers.values())
        return [
            {"node": node, "address": self.addresses.get(node, ""), "workers": count, "episodes": self._episodes[node]}
            for node, count in sorted(workers.items(), key=lambda item: (self.addresses.get(item[0], ""), item[0]))
        ]
