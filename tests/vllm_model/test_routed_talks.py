"""Checks conversations with replicas of a tiny model under real vLLM: how calls are routed, and what that saves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import REPOSITORY

from ray_gym.trainers.recorded_logprobs import Reference

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.models, pytest.mark.timeout(900)]


def routed(cluster: dict[str, str], folder: Path, case: str) -> dict[str, Any]:
    script = REPOSITORY / "tests" / "vllm_model" / "routed_talks.py"
    done = subprocess.run(
        [sys.executable, str(script), str(folder), case],
        env={**cluster, "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def talked(cluster: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("tiny")
    return {**routed(cluster, folder, "affinity"), "checkpoint": folder / "tiny"}


def test_with_affinity_hardly_anything_is_computed_twice(talked: dict[str, Any]) -> None:
    assert talked["session"] <= 1.1
    assert talked["none"] > 1.3, "the replicas don't share a cache"


def test_no_call_fails_when_a_replica_is_killed(talked: dict[str, Any]) -> None:
    assert talked["replicas"] == 2 and talked["latest"] < 10, "all had calls to come"
    assert talked["failures"] == []


def test_what_a_second_replica_goes_on_with_is_the_whole_history(talked: dict[str, Any]) -> None:
    """The recorded logprobs match the recorded ids, both before and after the conversation moves to another replica."""
    reference = Reference(talked["checkpoint"])
    for talk in talked["talks"]:
        assert len(talk["spans"]) == 10
        ids = torch.tensor(talk["ids"])
        positions = torch.cat([torch.arange(start, end) for start, end in talk["spans"]])
        found = reference.logits(ids, positions).log_softmax(dim=-1)
        computed = found.gather(-1, ids[positions].unsqueeze(-1)).squeeze(-1)
        assert (computed - torch.tensor(talk["logprobs"])).abs().max() < 2e-4


def test_a_cap_keeps_a_small_cache_from_forgetting(cluster: dict[str, str], tmp_path: Path) -> None:
    found = routed(cluster, tmp_path, "admission")
    assert {case["calls"] for case in found.values()} == {144}
    assert found["open"]["at once"] == 12 and found["capped"]["at once"] == 3
    assert found["capped"]["anew"] < 0.2 * found["open"]["anew"]


def test_a_replica_that_comes_with_the_calls_serves_the_weights_of_the_others(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    found = routed(cluster, tmp_path, "autoscaling")
    assert found["failures"] == [] and found["calls"] >= 48
    assert found["versions"] == [1, 1]
