"""Checks how the numbers of checks are told, what breaks them, and all of them on CPU with real engines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from benchmarks.parity import Compared
from examples.gpu_check import checks, episodes, tensor_parallel
from examples.gpu_check.weight_update import Phase, change_weights
from ray_gym.deployments.small_model import checkpoint_dir

CASE = {"dtype": "float32", "mean": "5.9e-06", "max": "3.7e-05", "bound": "mean 2e-05, max 2e-04", "tokens": 20}


def test_numbers_are_told_in_a_line() -> None:
    cases = [CASE, {**CASE, "mean": "1.1e-06", "max": "8.0e-05"}, {**CASE, "dtype": "bfloat16", "bound": "mean 5e-02"}]
    assert checks.tell_parity({"cases": cases}) == (
        "float32: off by 5.9e-06 in the mean, 8.0e-05 at most (mean 2e-05, max 2e-04), 40 tokens; "
        "bfloat16: off by 5.9e-06 in the mean, 3.7e-05 at most (mean 5e-02), 20 tokens"
    )
    lines = [{"fed by": by, "tokens/s": speed} for by, speed in (("rollouts", 90.0), ("directly", 100.0))]
    assert checks.tell_saturation({"lines": lines, "ratios": {"1": 0.9}}) == (
        "0.900 of the direct speed (least 0.97), 90 tokens/s"
    )
    assert checks.tell_saturation({"lines": [], "ratios": {}}) == "", "no round was played to its end"
    phases = [{"version": 0, "own": 3e-6, "other": 0.2}, {"version": 1, "own": 4e-6, "other": 0.1}]
    assert checks.tell_update({"phases": phases, "update_s": [0.71, 3.9]}) == (
        "off by version 0 3.0e-06, version 1 4.0e-06 from their own weights, by 1.0e-01 or more from the others; "
        "updates took 0.7, 3.9 s"
    )
    played = {"asked": 200, "completed": 199, "seconds": 12.3, "tokens": 4321}
    assert checks.tell_episodes(played) == "199 of 200 episodes completed in 12 s, 4321 generated tokens"


def test_logprobs_that_do_not_follow_the_weights_are_a_problem() -> None:
    def compared(difference: float) -> Compared:
        return Compared("float32", "plain-1.0", 4, 4, 4, multi_turn=4, differences=[difference] * 10)

    near, far = compared(1e-6), compared(0.1)
    assert Phase(1, {1}, near, far).problems() == []
    assert "mean" in Phase(1, {1}, far, near).problems()[0], "the engine still has the weights before"
    assert "other weights" in Phase(1, {1}, near, near).problems()[0], "the weights do not differ"
    assert "carry the versions [0, 1], not 1" in Phase(1, {0, 1}, near, far).problems()[0]


def test_the_engine_of_the_episodes_uses_cuda_graphs_on_gpus(tmp_path: Path) -> None:
    assert {"models.small.gpus=1", "models.small.engine_args.enforce_eager=false"} <= set(
        episodes.command_of(200, 1.0, tmp_path)
    )
    assert {"models.small.gpus=0", "models.small.engine_args.enforce_eager=true", "tasks.generate=200"} <= set(
        episodes.command_of(200, 0, tmp_path)
    )


@pytest.mark.models
def test_weights_are_changed_where_they_are_to_be(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    before = load_file(checkpoint_dir() / "model.safetensors")
    after = load_file(change_weights(checkpoint_dir(), tmp_path / "other") / "model.safetensors")
    changed = {name for name, tensor in before.items() if not tensor.equal(after[name])}
    assert changed == {name for name in before if "down_proj" in name} and before.keys() == after.keys()


@pytest.mark.models
def test_the_model_of_two_ranks_can_be_shared_by_them(tmp_path: Path) -> None:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(tensor_parallel.make_llama(tmp_path / "model", checkpoint_dir()))
    assert config.num_attention_heads % 2 == config.num_key_value_heads % 2 == config.intermediate_size % 2 == 0


@pytest.mark.models
@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.timeout(1800)
def test_the_dry_run_on_a_cpu(tmp_path: Path) -> None:
    """Saturation is left out: its bound is one of speed, which tests that run beside it would break."""
    names = ["parity", "weight_update", "tensor_parallel", "episodes"]
    command = [sys.executable, "-m", "examples.gpu_check", "--only", *names, "--out", str(tmp_path)]
    environment = {**os.environ, "RAY_ADDRESS": "local", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("# gpu-check of ray_gym, CPU, not a GPU: 4 passed\n")
