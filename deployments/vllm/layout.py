"""Places the ranks of a replica on GPUs: all in the replica's own node, or in a placement group for vLLM's Ray
executor.

Without pipeline parallelism a replica is one actor with all its GPUs, and vLLM's ranks are processes of it, so they are
on one node. With it (or with `placement`) the replica has a placement group with a bundle for each rank, where vLLM
finds it, as in `ray.serve.llm`: the actor itself lies in the first bundle and takes no GPU, since vLLM's workers take
one bundle's each. On CPUs nothing of this applies.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ray_gym.deployments.vllm.options import ReplicaOptions
from ray_gym.models.placement import Replicas

STRICT_PACK, STRICT_SPREAD = "STRICT_PACK", "STRICT_SPREAD"


def parallel_args(options: ReplicaOptions) -> dict[str, Any]:
    """Returns vLLM's engine arguments for parallelism."""
    return {
        "tensor_parallel_size": options.tensor_parallel,
        "pipeline_parallel_size": options.pipeline_parallel,
        **({"distributed_executor_backend": "ray"} if options.is_grouped else {}),
    }


def actor_options(options: ReplicaOptions) -> dict[str, Any]:
    """Returns the resources that the replica's actor asks for itself."""
    labels = {"label_selector": options.label_selector} if options.label_selector and not options.is_grouped else {}
    return {"num_cpus": options.cpus, "num_gpus": 0 if options.is_grouped else options.gpus_per_replica, **labels}


def group_options(options: ReplicaOptions) -> dict[str, Any]:
    """Returns the options of the deployment that give each replica its placement group, if it has one."""
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
    """Returns environment variables: vLLM's Ray executor asks for a whole GPU for each rank unless it is told
    otherwise.
    """
    return {"VLLM_RAY_PER_WORKER_GPUS": f"{options.gpus:g}"} if options.is_grouped and options.gpus < 1 else {}


def placed(options: ReplicaOptions) -> list[Replicas]:
    """Lists the units that have to be on one node each: replicas, or the bundles of a group. Empty where the options
    attach to an application that is up.
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

    def apart(bundle: tuple[float, float]) -> int:
        """Returns the number of bundles in its group, this one included, that need such a node each."""
        as_large = [each for each in bundles if each[0] >= bundle[0] and each[1] >= bundle[1]]
        return len(as_large) if options.strategy == STRICT_SPREAD else 1

    return [
        Replicas(options.replicas * count, *bundle, labels, apart(bundle)) for bundle, count in Counter(bundles).items()
    ]
