"""Tells what of a cluster is free, for those who wait until Ray finds a place for a worker or a replica."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray._private.state import available_resources_per_node

SAY_S = 60.0
"""Seconds after which it is said again that something waits for a place."""


def free_on_nodes(kind: str) -> list[float]:
    """Returns how many of a resource (CPU, GPU) are free on each node. Blocks."""
    return [resources.get(kind, 0) for resources in available_resources_per_node().values()]


def tell_free(kind: str, free: Sequence[float]) -> str:
    """Returns how many of a resource the cluster has, and of these are free, as words. `free`: those on each node."""
    there = ray.cluster_resources().get(kind, 0)
    return f"of the cluster's {there:g} {kind}s {sum(free):g} are free, on one node at most {max(free, default=0):g}"


def no_place(options: Mapping[str, Any], bundles: Sequence[Mapping[str, float]] = ()) -> str:
    """Returns why Ray has no place for a replica, as words: what it asks for, and what is free. Blocks.

    `options`: Ray's of its actor. `bundles`: those of its placement group, if it has one.
    """
    asked: Counter[str] = Counter()
    for bundle in bundles or [{"CPU": options.get("num_cpus") or 0, "GPU": options.get("num_gpus") or 0}]:
        asked.update(bundle)
    told = [f"{number:g} {kind}s ({tell_free(kind, free_on_nodes(kind))})" for kind, number in asked.items() if number]
    if labels := options.get("label_selector"):
        told.append(f"a node with {', '.join(f'{key}={value}' for key, value in labels.items())}")
    return f"Ray has no place for a replica, which asks for {' and '.join(told) or 'no CPUs'}"
