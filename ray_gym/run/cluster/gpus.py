"""Checks whether a cluster has the GPUs that the models of a run need: not only in total, but node by node. It does not
ask the cluster: the caller passes the GPUs of each node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ray_gym.models.base import Engine
from ray_gym.models.engine import OnNodes
from ray_gym.models.placement import Replicas


def replicas_by_model(engines: Mapping[str, Engine]) -> dict[str, Sequence[Replicas]]:
    """Returns, by model, the replicas of the models that need GPUs. An engine that doesn't describe its replicas counts
    as having one replica for each whole GPU.
    """
    found: dict[str, Sequence[Replicas]] = {}
    for name, engine in engines.items():
        if gpus := engine.gpus():
            placed = engine.placed() if isinstance(engine, OnNodes) else ()
            count = max(1, int(gpus))
            found[name] = placed or [Replicas(count, 0, gpus / count)]
    return found


def missing_gpus(wanted: Mapping[str, Sequence[Replicas]], nodes: Sequence[float]) -> str | None:
    """Returns a text that says which GPUs are missing; None if none are. `wanted` has the replicas by model, `nodes`
    the number of GPUs of each node.

    Replicas are placed the largest first, each on the node where the least is left over.
    """
    of_each = {name: sum(each.count * each.gpus for each in placed) for name, placed in wanted.items()}
    told = ", ".join(f"{name} {gpus:g}" for name, gpus in of_each.items())
    total = sum(of_each.values())
    if total > sum(nodes):
        return f"they ask for {total:g} GPUs ({told}) and the cluster has {sum(nodes):g}"
    left = list(nodes)
    flat = [(name, each) for name, placed in wanted.items() for each in placed if each.gpus]
    for name, each in sorted(flat, key=lambda item: -item[1].gpus):
        if each.gpus > max(nodes):
            return (
                f"a replica of {name} asks for {each.gpus:g} GPUs on one node (gpus x tensor_parallel), and the largest node has "
                f"{max(nodes):g}; pipeline_parallel puts it on several"
            )
        if each.apart > (there := sum(gpus >= each.gpus for gpus in nodes)):
            return (
                f"a replica of {name} asks for {each.gpus:g} GPUs on each of {each.apart} nodes (STRICT_SPREAD), and {there} of the "
                "nodes have so many"
            )
        for _ in range(each.count):
            if (best := min((gpus for gpus in left if gpus >= each.gpus), default=None)) is None:
                return f"they ask for {total:g} GPUs ({told}), and of what the nodes have ({_list_gpus(nodes)}) none is left for {name}"
            left[left.index(best)] = best - each.gpus
    return None


def _list_gpus(nodes: Sequence[float]) -> str:
    return ", ".join(f"{gpus:g}" for gpus in sorted(nodes, reverse=True) if gpus)
