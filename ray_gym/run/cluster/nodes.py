"""The nodes of the cluster as a run sees them: which there are, what its workers did on each, and where it puts the next one."""

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
"""How old what is known of the nodes may be."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a worker says first: where it is, and the name of a file that it wrote, for the driver to look for."""

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
        """Ray's scheduling strategy for a worker. Those with CPUs of their own are spread by Ray, which knows where some are free.

        The others must be on the node that was chosen, or fail: else Ray puts them wherever a process is sooner up.
        """
        if self.cpus_per_worker:
            return "SPREAD"
        node = self._spread.choose(worker, await self._nodes(), time.monotonic())
        return NodeAffinitySchedulingStrategy(node, soft=False) if node else "SPREAD"

    async def came_up(self, worker: str, node: str) -> None:
        await self._nodes(node)
        self.shares.came_up(worker, node)

    def lost(self, worker: str) -> None:
        self._spread.lost(worker, time.monotonic())

    def left(self, worker: str) -> None:
        self._spread.left(worker)

    async def moves(self, worker: str) -> bool:
        """Whether another node, which joined later, say, has so many fewer workers that this one should end, for one there."""
        return not self.cpus_per_worker and self._spread.moves(worker, await self._nodes(), time.monotonic())

    async def _nodes(self, wanted: str = "") -> Sequence[str]:
        """Ids; looked up anew if `wanted` is not known. While somebody looks, the others go by what was there before."""
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
    """Ids of those that are alive. A node that offers no CPUs, as a head often does, is left alone if there are others."""
    alive = [node for node in nodes if node["Alive"]]
    return [node["NodeID"] for node in alive if node["Resources"].get("CPU")] or [node["NodeID"] for node in alive]


def this_node() -> str:
    """The id of the node that this process is on; empty outside of Ray."""
    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else ""
