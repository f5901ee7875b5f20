"""Whether the nodes of a cluster have the GPUs that models ask for."""

from __future__ import annotations

from typing import Any

import pytest

from deployments.vllm import VllmEngine
from deployments.vllm.options import VllmOptions
from ray_gym.errors import RunFailed, UserError
from ray_gym.models.placement import Replicas
from ray_gym.run.cluster import check_gpus, connected
from ray_gym.run.gpus import asked, lacking


def engine(**options: Any) -> VllmEngine:
    return VllmEngine(VllmOptions(model="smollm2-135m-instruct", **options))


def test_only_who_loads_a_model_on_gpus_asks_for_some() -> None:
    wanted = asked(
        {"a": engine(gpus=0), "b": engine(replicas=2, tensor_parallel=2), "c": VllmEngine(VllmOptions(app="x"))}
    )
    assert wanted == {"b": Replicas(2, 0, 2)}


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
    wanted = {"policy": Replicas(2, 0, 2), "user": Replicas(1, 0, 4)}
    found = lacking(wanted, nodes)
    assert found == told if told is None else told in str(found)


def test_stages_of_a_pipeline_may_be_on_several_nodes() -> None:
    assert lacking(asked({"m": engine(tensor_parallel=4)}), [2, 2]) is not None
    assert lacking(asked({"m": engine(tensor_parallel=2, pipeline_parallel=2)}), [2, 2]) is None


@pytest.mark.ray
def test_too_many_gpus_are_refused_at_once_or_waited_for(
    cluster: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for key, value in cluster.items():
        if key.startswith("RAY_"):
            monkeypatch.setenv(key, value)
    wanted = {"small": engine(replicas=2)}
    with connected():
        with pytest.raises(UserError, match=r"models: they ask for 2 GPUs \(small 2\) and the cluster has 0.*--wait"):
            check_gpus(wanted, wait=False)
        with pytest.raises(RunFailed, match=r"the cluster has 0, after . s of waiting"):
            check_gpus(wanted, wait=True, deadline_s=1)
        assert "waiting for GPUs since 0 s: they ask for 2" in capfd.readouterr().err
        check_gpus({"small": engine(gpus=0)}, wait=False)
