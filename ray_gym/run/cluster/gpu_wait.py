"""Waits for GPUs that the cluster is about to get. A pending placement group shows the cluster's autoscaler which are
missing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group

from ray_gym.errors import RunFailed
from ray_gym.models.placement import Replicas
from ray_gym.printable import printable
from ray_gym.run.cluster.gpus import missing_gpus

LOOK_S = 2.0
SAY_S = 60.0


def gpus_of_nodes() -> list[float]:
    """Returns the number of GPUs of each node of the joined cluster that is alive."""
    return [float(node["Resources"].get("GPU", 0)) for node in ray.nodes() if node["Alive"]]


def wait_for_gpus(wanted: Mapping[str, Sequence[Replicas]], deadline_s: float | None, stopped: threading.Event) -> None:
    """Blocks until the cluster has the wanted GPUs or `stopped` is set, and asks its autoscaler for them meanwhile. It
    prints to standard error at the start and every `SAY_S` seconds. `wanted`: replicas by model.

    Errors: RunFailed if they are not there after `deadline_s` seconds (None: no deadline).
    """
    began, said_at = time.monotonic(), float("-inf")
    asking = [each for placed in wanted.values() for each in placed if each.gpus or each.cpus]
    together = [each for each in asking if each.apart == 1 for _ in range(each.count)]
    demands = [_request_gpus(together, "PACK")] if together else []
    for each in asking:
        if each.apart > 1:
            demands += [_request_gpus([each] * each.apart, "STRICT_SPREAD") for _ in range(0, each.count, each.apart)]
    try:
        while (problem := missing_gpus(wanted, gpus_of_nodes())) is not None:
            waited = time.monotonic() - began
            if deadline_s is not None and waited > deadline_s:
                raise RunFailed(f"models: {problem}, after {waited:.0f} s of waiting (--wait-deadline, wait_s)")
            if time.monotonic() - said_at >= SAY_S:
                said_at = time.monotonic()
                print(printable(f"waiting for GPUs since {waited:.0f} s: {problem}"), file=sys.stderr, flush=True)
            if stopped.wait(LOOK_S):
                return
    finally:
        for demand in demands:
            remove_placement_group(demand)  # the replicas take its place


def _request_gpus(bundles: Sequence[Replicas], strategy: str) -> PlacementGroup:
    labels = [dict(each.labels) for each in bundles]
    resources = [{"GPU": each.gpus, "CPU": each.cpus} for each in bundles]
    return placement_group(resources, strategy, bundle_label_selector=labels if any(labels) else None)
