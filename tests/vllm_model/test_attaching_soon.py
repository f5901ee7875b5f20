"""Attaches runs to a model, and they play at once: they load none, and import nothing that loads one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from benchmarks.start import attached_config, start

BOUND_S = 20
"""On a machine that other tests keep busy; alone, `python -m benchmarks.start` says how long it takes."""
HEAVY = ("vllm", "torch", "transformers", "huggingface_hub")


@pytest.mark.engine
@pytest.mark.clock
@pytest.mark.ray
def test_the_first_step_comes_soon(small_model_app: str, model_cluster: dict[str, str], tmp_path: Path) -> None:
    started = start(attached_config(small_model_app), model_cluster, tmp_path)
    assert 0 < started.joined < started.first_step < BOUND_S


@pytest.mark.clock
def test_neither_driver_nor_worker_imports_what_loads_a_model() -> None:
    """Importing vLLM alone takes longer than all the rest."""
    script = (
        "import sys, ray_gym.cli.app, ray_gym.run.submit, ray_gym.run.worker.worker\n"
        "import ray_gym.deployments.vllm, ray_gym.deployments.vllm_reward\n"
        f"print([name for name in {HEAVY} if name in sys.modules], 'ray_gym.deployments.vllm.replica' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.strip() == "[] False"
