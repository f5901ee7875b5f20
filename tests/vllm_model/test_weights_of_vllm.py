"""Weights change under load: no request fails, and every token is what the weights of its version say.

Tiny random models: any two of them disagree about every token. One program plays a trainer (`update_weights`), the tests look at
what it got.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import run
from tiny_llama import make_adapter, make_llama, merged
from told_versions import Checkpoints, check

pytestmark = [pytest.mark.models, pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of good and bad checkpoints. `truncated` lacks its last bytes, as after a full disk."""
    folder = tmp_path_factory.mktemp("weights")
    for seed, name in enumerate(("first", "second", "third")):
        make_llama(folder / name, seed)
    make_llama(folder / "wrong_shape", 3, hidden_size=32)
    merged(folder / "third", make_adapter(folder / "adapter", 4), folder / "third_with_adapter")
    shutil.copytree(folder / "second", folder / "truncated")
    weights = folder / "truncated" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    shutil.copytree(folder / "second", folder / "other_settings")
    config = folder / "other_settings" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "rms_norm_eps": 0.1}))
    return folder


@pytest.fixture(scope="module")
def played(folder: Path, cluster: dict[str, str]) -> dict[str, Any]:
    results = folder / "results.json"
    run("update_weights.py", folder, results, environment=cluster, within_s=1200)
    scenes: dict[str, Any] = json.loads(results.read_text())
    return scenes


def only(threads: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the sample of each thread, which has just one: nothing of it was written anew."""
    return [sample for (sample,) in threads]


def test_updates_under_load(played: dict[str, Any], folder: Path) -> None:
    scene = played["under_load"]
    assert scene["failures"] == [] and len(scene["threads"]) == 100
    checkpoints = Checkpoints(folder, {0: "first", 1: "second", 2: "third", 7: "second"})
    told = check(only(scene["threads"]), checkpoints)
    assert all((np.diff(versions) >= 0).all() for versions in told)
    assert set(np.concatenate(told).tolist()) == {0, 1, 2, 7}


def test_keep_goes_on_in_the_middle_of_an_answer_and_the_other_modes_do_not(played: dict[str, Any]) -> None:
    crossed = set()
    for (sample,) in played["under_load"]["threads"]:
        spans = sample["versions"]
        crossed |= {(a[0], b[0]) for a, b in pairwise(spans) if a[2] == b[1]}
    assert crossed == {(0, 1)}


def test_what_does_not_fit_is_refused_and_the_old_version_serves_on(played: dict[str, Any], folder: Path) -> None:
    refusals = played["under_load"]["refusals"]
    assert played["under_load"]["after_refusals"] == 0
    for name, told in (
        ("truncated", f"{folder / 'truncated' / 'model.safetensors'}: it is cut off"),
        ("wrong_shape", "model.embed_tokens.weight has the shape [49152, 32], the model's has [49152, 64]"),
        ("missing", f"{folder / 'missing'}: there is no such folder"),
        ("other_settings", "rms_norm_eps is 0.1, the model's is 1e-06"),
    ):
        assert told in refusals[name] and "version 1 was not loaded, version 0 serves on" in refusals[name]
    assert refusals["version"] == "version: 0 is not greater than 0, which is being served"


def test_tensors_from_memory_and_adapters(played: dict[str, Any], folder: Path) -> None:
    scene = played["lighter"]
    assert "model.norm.weight has the shape [3], the model's has [64]" in scene["refusal"]
    assert scene["failures"] == []
    checkpoints = Checkpoints(folder, {7: "second", 8: "third", 9: "third_with_adapter", 10: "second"})
    told = check(only(scene["threads"]), checkpoints)
    assert set(np.concatenate(told).tolist()) == {8, 9, 10}


def test_a_replica_that_dies_during_an_update_comes_back_with_the_right_weights(
    played: dict[str, Any], folder: Path
) -> None:
    scene = played["killed"]
    assert scene["version"] == 11 and scene["failures"] == []
    checkpoints = Checkpoints(folder, {10: "second", 11: "third"})
    assert set(np.concatenate(check(only(scene["threads"]), checkpoints)).tolist()) == {10, 11}
    assert scene["back"]["failures"] == []
    assert set(np.concatenate(check(only(scene["back"]["threads"]), checkpoints)).tolist()) == {11}


def test_replicas_that_could_not_load_are_started_again_with_what_was_served(
    played: dict[str, Any], folder: Path
) -> None:
    scene = played["vanished"]
    assert scene["refusal"].startswith("failed: load: ") and "version 11 serves; killed" in scene["refusal"]
    assert scene["version"] == 11 and scene["failures"] == []
    assert scene["after"]["failures"] == []
    told = check(only(scene["after"]["threads"]), Checkpoints(folder, {11: "third"}))
    assert set(np.concatenate(told).tolist()) == {11}


@pytest.fixture(scope="module", autouse=True)
def no_copies_are_left(played: dict[str, Any]) -> Iterator[None]:
    from ray_gym.deployments.vllm.node_copy import copies_dir

    yield
    directory = copies_dir("weights-tiny")
    assert not directory.exists() or not list(directory.iterdir())
