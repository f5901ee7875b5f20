"""Places the ranks of a replica on GPUs: all in the replica's own node, or in a placement group for vLLM's Ray
executor.

Without pipeline parallelism a replica is one actor with all its GPUs, and vLLM's ranks are its child processes, so they
are on one node. With it (or with `placement`) the replica has a placement group with a bundle for each rank, as in
`ray.serve.llm`: the actor itself is in the first bundle and takes no GPU, and each of vLLM's workers takes the GPU of
one bundle. On CPUs none of this applies.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ray_gym.deployments.vllm.options import ReplicaOptions
from ray_gym.models.placement import Replicas

STRICT_PACK, STRICT_SPREAD = "STRICT_PACK", "STRICT_SPREAD"


def parallel_args(options: ReplicaOptions) -> dict[str, Any]:
    """Returns vLLM's engine arguments for tensor and pipeline parallelism."""
    return {
        "tensor_parallel_size": options.tensor_parallel,
        "pipeline_parallel_size": options.pipeline_parallel,
        **({"distributed_executor_backend": "ray"} if options.is_grouped else {}),
    }


def actor_options(options: ReplicaOptions) -> dict[str, Any]:
    """Returns Ray's options of a replica's actor: its own CPUs, GPUs and labels. An actor with a placement group has no
    GPUs and labels of its own.
    """
    labels = {"label_selector": options.label_selector} if options.label_selector and not options.is_grouped else {}
    return {"num_cpus": options.cpus, "num_gpus": 0 if options.is_grouped else options.gpus_per_replica, **labels}


def group_options(options: ReplicaOptions) -> dict[str, Any]:
    """Returns the options of a Serve deployment that give each replica a placement group; {} if it has none."""
    if not options.is_grouped:
        return {}
    first, *others = options.bundles
    labels = (
        {"placement_group_bundle_label_selector": [options.label_selector] * len(options.bundles)}
        if options.label_selector
        else {}
    )
    return {
        "placement_group_bundles": [{**first, "CPU": first.get("CPU", 0) + options.cpus}, *others],
        "placement_group_strategy": options.strategy,
        **labels,
    }


def env_vars(options: ReplicaOptions) -> dict[str, str]:
    """Returns environment variables of a replica; {} if it needs none. vLLM's Ray executor takes a whole GPU for each
    rank by default, so ranks with a part of a GPU need one.
    """
    return {"VLLM_RAY_PER_WORKER_GPUS": f"{options.gpus:g}"} if options.is_grouped and options.gpus < 1 else {}


def list_placements(options: ReplicaOptions) -> list[Replicas]:
    """Returns the replicas, or the bundles of their placement groups, each of which has to fit on one node; [] if the
    options attach to an application that is up. Bundles with the strategy STRICT_PACK are added up to one for each
    replica.
    """
    if options.app is not None:
        return []
    labels = options.label_selector
    if not options.is_grouped:
        return [Replicas(options.replicas, options.cpus, options.gpus_per_replica, labels)]
    bundles = [
        (bundle.get("CPU", 0), bundle.get("GPU", 0)) for bundle in group_options(options)["placement_group_bundles"]
    ]
    if options.strategy == STRICT_PACK:
        bundles = [(sum(cpus for cpus, _ in bundles), sum(gpus for _, gpus in bundles))]

    def count_apart(bundle: tuple[float, float]) -> int:
        """Returns the number of bundles of a group, this one included, that are at least as large, if all bundles have
        to be on different nodes (STRICT_SPREAD): as many nodes of that size are needed. Else it is 1.
        """
        as_large = [each for each in bundles if each[0] >= bundle[0] and each[1] >= bundle[1]]
        return len(as_large) if options.strategy == STRICT_SPREAD else 1

    return [
        Replicas(options.replicas * count, *bundle, labels, count_apart(bundle))
        for bundle, count in Counter(bundles).items()
    ]
