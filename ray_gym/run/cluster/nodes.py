"""Knows the nodes of the cluster: which there are, what the run's workers did on each, and on which the next worker
goes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ray_gym.run.cluster.spread import Spread
from ray_gym.run.driver.tally import NodeShares

LOOK_S = 2.0
"""Seconds for which the list of nodes is taken to be current."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Tells the driver, as a worker's first message, its node and the name of a file that it wrote, for the driver to
    look for.
    """

    file: str
    node: str


@dataclass(slots=True)
class Nodes:
    shares: NodeShares
    cpus_per_worker: float
    _spread: Spread = field(default_factory=Spread)
    _there: list[str] = field(default_factory=list)
    _looked_at: float = float("-inf")
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def strategy(self, worker: str) -> Any:
        """Returns Ray's scheduling strategy for a worker. Ray itself spreads workers with CPUs of their own, as it
        knows where some are free.

        The others must be on the node that was chosen, or fail: else Ray puts them wherever a process is up sooner.
        """
        if self.cpus_per_worker:
            return "SPREAD"
        node = self._spread.choose(worker, await self._nodes(), time.monotonic())
        return NodeAffinitySchedulingStrategy(node, soft=False) if node else "SPREAD"

    async def add_worker(self, worker: str, node: str) -> None:
        await self._nodes(node)
        self.shares.add_worker(worker, node)

    def lose_worker(self, worker: str) -> None:
        self._spread.lose_worker(worker, time.monotonic())

    def release_worker(self, worker: str) -> None:
        self._spread.release_worker(worker)

    async def should_move(self, worker: str) -> bool:
        """Says whether the worker should end, for another one on a node that has far fewer, because it joined later,
        for example.
        """
        return not self.cpus_per_worker and self._spread.should_move(worker, await self._nodes(), time.monotonic())

    async def _nodes(self, wanted: str = "") -> Sequence[str]:
        """Returns the ids of the nodes for workers; looks them up anew if `wanted` is not known. While one caller
        looks, others get the list of before.
        """
        if self._looking.locked() and self._there and not wanted:
            return self._there
        async with self._looking:
            if time.monotonic() - self._looked_at > LOOK_S or wanted not in ("", *self.shares.addresses):
                await self._look()
            return self._there

    async def _look(self) -> None:
        self._looked_at = time.monotonic()
        try:
            found = await asyncio.to_thread(ray.nodes)
        except (RayError, OSError):  # whoever knows is being started again
            return
        self._there = for_workers(found)
        self.shares.addresses.update((node["NodeID"], node["NodeManagerAddress"]) for node in found)


def for_workers(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the ids of the nodes that are alive. A node that offers no CPUs, as a head often does, is left out if
    there are others.
    """
    alive = [node for node in nodes if node["Alive"]]
    return [node["NodeID"] for node in alive if node["Resources"].get("CPU")] or [node["NodeID"] for node in alive]


def this_node() -> str:
    """Returns the id of the node that this process is on; an empty text outside of Ray."""
    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else ""
