"""Checks how a run compares the GPUs that models ask for with those of a cluster's nodes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, ray_gym

from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.models.placement import Replicas
from ray_gym.run.cluster.gpus import missing_gpus, replicas_by_model


def engine(**options: Any) -> VllmEngine:
    return VllmEngine(VllmOptions(model="smollm2-135m-instruct", **options))


def test_only_who_loads_a_model_on_gpus_asks_for_some() -> None:
    wanted = replicas_by_model(
        {"a": engine(gpus=0), "b": engine(replicas=2, tensor_parallel=2), "c": VllmEngine(VllmOptions(app="x"))}
    )
    assert wanted == {"b": [Replicas(2, 0, 2)]}


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([4, 4], None),
        ([8, 0], None),
        ([], "they ask for 8 GPUs (policy 4, user 4) and the cluster has 0"),
        ([4, 3], "they ask for 8 GPUs (policy 4, user 4) and the cluster has 7"),
        (
            [2, 2, 2, 2],
            "a replica of user asks for 4 GPUs on one node (gpus x tensor_parallel), and the largest node has 2",
        ),
        ([6, 2], None),
        ([5, 3], "none is left for policy"),
        ([4, 1, 1, 1, 1], "of what the nodes have (4, 1, 1, 1, 1) none is left for policy"),
    ],
)
def test_gpus_are_enough_on_whole_nodes(nodes: list[float], told: str | None) -> None:
    wanted = {"policy": [Replicas(2, 0, 2)], "user": [Replicas(1, 0, 4)]}
    found = missing_gpus(wanted, nodes)
    assert found == told if told is None else told in str(found)


def test_stages_of_a_pipeline_may_be_on_several_nodes() -> None:
    assert missing_gpus(replicas_by_model({"m": engine(tensor_parallel=4)}), [2, 2]) is not None
    assert missing_gpus(replicas_by_model({"m": engine(tensor_parallel=2, pipeline_parallel=2)}), [2, 2]) is None


def test_bundles_that_have_to_be_apart_need_as_many_nodes() -> None:
    wanted = replicas_by_model({"m": engine(tensor_parallel=2, placement={"strategy": "STRICT_SPREAD"})})
    assert missing_gpus(wanted, [1, 1]) is None
    assert "on each of 2 nodes (STRICT_SPREAD), and 1 of the nodes have so many" in str(missing_gpus(wanted, [2]))


def test_bundles_without_gpus_ask_for_none() -> None:
    bundles = [{"CPU": 4.0}, {"GPU": 1.0, "CPU": 1.0}, {"GPU": 1.0, "CPU": 1.0}]
    wanted = replicas_by_model({"m": engine(tensor_parallel=2, placement={"bundles": bundles})})
    assert missing_gpus(wanted, [1, 1]) is None
    assert missing_gpus(wanted, [1]) == "they ask for 2 GPUs (m 2) and the cluster has 1"


@pytest.mark.ray
@pytest.mark.runs
def test_too_many_gpus_are_refused_at_once_or_waited_for(cluster: dict[str, str], tmp_path: Path) -> None:
    asks = ["rollout", "configs/tic_tac_toe.yaml", f"output.dir={tmp_path}", "models.small.gpus=1"]
    refused = ray_gym(*asks, environment=cluster)
    assert refused.returncode == 2, refused.stderr
    assert (
        "models: they ask for 1 GPUs (small 1) and the cluster has 0. " in refused.stderr and "--wait" in refused.stderr
    )
    waited = ray_gym(*asks, "--wait", "--wait-deadline", "1", environment=cluster)
    assert waited.returncode == 1, waited.stderr
    assert "waiting for GPUs since 0 s: they ask for 1 GPUs" in waited.stderr
    assert "s of waiting (--wait-deadline" in waited.stderr and "Traceback" not in waited.stderr
    assert list(tmp_path.iterdir()) == []


CANCELLED = """
import asyncio, contextlib, time
from ray.util.placement_group import placement_group_table
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.run.cluster import gpu_wait
from ray_gym.run.cluster.cluster import check_gpus_in_thread, connect

async def main() -> None:
    engines = {"m": VllmEngine(VllmOptions(model="smollm2-135m-instruct", gpus=1))}
    waiting = asyncio.create_task(check_gpus_in_thread(engines, 60))
    while not any(group["state"] == "PENDING" for group in placement_group_table().values()):
        await asyncio.sleep(0.05)
    began = time.monotonic()
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    states = {group["state"] for group in placement_group_table().values()}
    print(waiting.cancelled(), time.monotonic() - began < 5, states)

gpu_wait.LOOK_S = 60.0
with connect():
    asyncio.run(main())
"""


@pytest.mark.ray
@pytest.mark.runs
def test_who_is_cancelled_waits_for_no_gpus_and_asks_for_none(cluster: dict[str, str]) -> None:
    command = [sys.executable, "-c", CANCELLED]
    done = subprocess.run(
        command, env=cluster, cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == "True True {'REMOVED'}", done.stderr
