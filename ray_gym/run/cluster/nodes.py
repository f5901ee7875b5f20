"""Chooses the node of each worker, and keeps a list of the cluster's nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ray_gym.hosting.room import free_on_nodes, tell_free
from ray_gym.run.cluster.shares import NodeShares
from ray_gym.run.cluster.spread import Spread

LOOK_S = 2.0
"""Seconds for which a list of nodes counts as current."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Holds the first message of a worker to its driver."""

    file: str
    """Name of a probe file that the worker wrote into the run's staging folder. The driver looks for it."""
    node: str
    """Id of the worker's node; empty outside of Ray."""


@dataclass(slots=True)
class Nodes:
    """Chooses nodes for the workers of a run, from a list of nodes that it keeps current."""

    shares: NodeShares
    """Counts of workers and committed episodes by node."""
    cpus_per_worker: float
    """CPUs that Ray reserves for a worker; 0 for none."""
    _spread: Spread = field(default_factory=Spread)
    _there: list[str] = field(default_factory=list)
    _looked_at: float = float("-inf")
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def busy(self) -> str:
        """Returns why no node has room for a worker: the CPUs that it asks for, and those that are free; empty if a node
        has room. Blocks.
        """
        free = free_on_nodes("CPU")
        if self.cpus_per_worker <= max(free, default=0):
            return ""
        asked = f"a worker asks for {self.cpus_per_worker:g} CPUs (fanout.cpus_per_worker)"
        return f"{asked}, and {tell_free('CPU', free)}"

    async def strategy(self, worker: str) -> Any:
        """Returns Ray's scheduling strategy for a worker that is about to start: a node for it, or "SPREAD" if workers
        reserve CPUs or no node is known.

        Ray itself spreads workers that reserve CPUs, since it knows where some are free. Any other worker must start on
        the chosen node, or fail: else Ray puts it on a node where a process happens to be up sooner.
        """
        if self.cpus_per_worker:
            return "SPREAD"
        node = self._spread.choose(worker, await self._nodes(), time.monotonic())
        return NodeAffinitySchedulingStrategy(node, soft=False) if node else "SPREAD"

    async def add_worker(self, worker: str, node: str) -> None:
        """Records the node (by its id) on which a worker came up. Looks the nodes up again if this one is not known."""
        await self._nodes(node)
        self.shares.add_worker(worker, node)

    def lose_worker(self, worker: str) -> None:
        """Records that a worker died, and that its node may be dying."""
        self._spread.lose_worker(worker, time.monotonic())

    def release_worker(self, worker: str) -> None:
        """Records that a worker ended because it was told to."""
        self._spread.release_worker(worker)

    async def should_move(self, worker: str) -> bool:
        """Says whether a worker should end, so that another one starts on a node with far fewer workers (a node that
        joined later, for example). Always False if workers reserve CPUs.
        """
        return not self.cpus_per_worker and self._spread.should_move(worker, await self._nodes(), time.monotonic())

    async def _nodes(self, wanted: str = "") -> Sequence[str]:
        """Returns the ids of the nodes for workers. Looks them up again if they are older than `LOOK_S` seconds, or if
        the node `wanted` is not known. If Ray can't answer, it returns the earlier list.

        While one caller looks them up, others that want no particular node get the earlier list, if there is one.
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
        except (RayError, OSError):  # Ray's control service is being restarted
            return
        self._there = for_workers(found)
        self.shares.addresses.update((node["NodeID"], node["NodeManagerAddress"]) for node in found)


def for_workers(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the ids of the nodes on which workers may run: those alive, without nodes that offer no CPUs (often the
    head), unless there are no others.
    """
    alive = [node for node in nodes if node["Alive"]]
    return [node["NodeID"] for node in alive if node["Resources"].get("CPU")] or [node["NodeID"] for node in alive]


def this_node() -> str:
    """Returns the id of this process's node; an empty text outside of Ray."""
    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else ""
