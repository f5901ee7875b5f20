"""Checks which GPUs Serve and vLLM are asked for, for a replica's ranks. No GPU is needed for that."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.hardware import cpu_engine_args
from ray_gym.deployments.vllm.layout import list_placements, parallel_args
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm.replicas import deployment_spec
from ray_gym.models.placement import Replicas

LABELS = {"pool": "policy"}


def options(**given: Any) -> VllmOptions:
    return VllmOptions(model="smollm2-135m-instruct", **given)


def deployed(given: VllmOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the actor's options, without its environment, and the deployment's, as Serve itself takes them."""
    made = deployment_spec(dict, given, (given,))
    actor = {key: value for key, value in made.actor_options.items() if key != "runtime_env"}
    made.bind()
    return actor, made.settings


def test_without_gpus_nothing_is_asked() -> None:
    actor, deployment = deployed(options(gpus=0, tensor_parallel=2, pipeline_parallel=2))
    assert actor == {"num_cpus": 0, "num_gpus": 0} and deployment == {}
    args = parallel_args(options(gpus=0, tensor_parallel=2, pipeline_parallel=2))
    assert args == {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}


def test_one_rank_on_a_cpu_is_in_the_process_of_its_engine() -> None:
    assert cpu_engine_args(options(gpus=0))["distributed_executor_backend"] == "uni"
    assert "distributed_executor_backend" not in cpu_engine_args(options(gpus=0, tensor_parallel=2))


def test_tensor_parallel_ranks_are_one_actor_on_one_node() -> None:
    given = options(gpus=1, tensor_parallel=4, cpus=2, replicas=3, label_selector=LABELS)
    assert deployed(given) == ({"num_cpus": 2, "num_gpus": 4, "label_selector": LABELS}, {})
    assert parallel_args(given) == {"tensor_parallel_size": 4, "pipeline_parallel_size": 1}
    assert list_placements(given) == [Replicas(3, 2, 4, LABELS)]
    assert VllmEngine(given).gpus() == 12


def test_a_pipeline_has_a_placement_group_with_a_bundle_a_rank() -> None:
    """The first bundle has the replica's CPUs, and vLLM's workers have the GPUs, as in Ray's own placement groups."""
    given = options(gpus=1, tensor_parallel=2, pipeline_parallel=2, cpus=3, replicas=2, label_selector=LABELS)
    actor, deployment = deployed(given)
    assert actor == {"num_cpus": 3, "num_gpus": 0}
    assert deployment == {
        "placement_group_bundles": [{"GPU": 1, "CPU": 3}, {"GPU": 1}, {"GPU": 1}, {"GPU": 1}],
        "placement_group_strategy": "PACK",
        "placement_group_bundle_label_selector": [LABELS] * 4,
    }
    assert parallel_args(given) == {
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2,
        "distributed_executor_backend": "ray",
    }
    assert VllmEngine(given).gpus() == 8
    assert list_placements(given) == [Replicas(2, 3, 1, LABELS), Replicas(6, 0, 1, LABELS)], (
        "each bundle is on one node"
    )


def test_a_placement_of_ones_own() -> None:
    bundles = [{"CPU": 4.0}, {"GPU": 1.0, "CPU": 1.0}, {"GPU": 1.0, "CPU": 1.0}]
    given = options(tensor_parallel=2, placement={"strategy": "STRICT_PACK", "bundles": bundles})
    _, deployment = deployed(given)
    assert deployment["placement_group_strategy"] == "STRICT_PACK"
    assert deployment["placement_group_bundles"] == bundles
    assert list_placements(given) == [Replicas(1, 6, 2)], "all bundles on one node"
    apart = options(tensor_parallel=2, cpus=1, placement={"strategy": "SPREAD", "bundles": bundles})
    assert list_placements(apart) == [Replicas(1, 5, 0), Replicas(2, 1, 1)]
    strictly = options(tensor_parallel=2, replicas=2, placement={"strategy": "STRICT_SPREAD", "bundles": bundles[1:]})
    assert list_placements(strictly) == [Replicas(4, 1, 1, apart=2)]
    its_own = options(tensor_parallel=2, cpus=3, placement={"strategy": "STRICT_SPREAD"})
    assert list_placements(its_own) == [Replicas(1, 3, 1, apart=1), Replicas(1, 0, 1, apart=2)], (
        "with the actor's CPUs in one"
    )


def test_parts_of_a_gpu_are_told_to_the_executor() -> None:
    given = options(gpus=0.5, tensor_parallel=2, placement={})
    made = deployment_spec(dict, given, (given,))
    assert made.settings["placement_group_bundles"] == [{"GPU": 0.5, "CPU": 0}, {"GPU": 0.5}]
    assert made.actor_options["runtime_env"]["env_vars"]["VLLM_RAY_PER_WORKER_GPUS"] == "0.5"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "on a CPU": ({"gpus": 0, "placement": {}}, "gpus is 0"),
    "several GPUs a rank": ({"gpus": 2, "pipeline_parallel": 2}, "a rank of a pipeline or placement has 1 GPU"),
    "too few bundles": ({"tensor_parallel": 2, "placement": {"bundles": [{"GPU": 1}]}}, "2 of them need GPU: 1"),
    "bundles of other sizes": ({"placement": {"bundles": [{"GPU": 4}]}}, "1 of them need GPU: 1"),
    "an engine argument instead": ({"engine_args": {"pipeline_parallel_size": 2}}, "set by pipeline_parallel"),
    "no such strategy": ({"placement": {"strategy": "TIGHT"}}, "STRICT_PACK"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_laid_out_is_refused(case: str) -> None:
    given, told = WRONG[case]
    with pytest.raises(ValidationError) as refused:
        options(**given)
    assert told in str(refused.value)


def test_quantization_is_an_engine_argument() -> None:
    assert options(engine_args={"quantization": "fp8"}).engine_args == {"quantization": "fp8"}
