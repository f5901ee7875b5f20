"""Plays examples/two_adapters.py: policy and user learn at once on one base, each from its own samples only.

The example itself asserts ratios of 1 at every token, one version a batch, and no gradient for the other line. They are
paid for opposite things, so both could not get better if any of their samples were mixed up.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

import ray_gym

pytestmark = [pytest.mark.models, pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(1200)]

STEPS = 16
TOLD = re.compile(r"^step (\d+): policy ([\d.]+), user ([\d.]+)$", re.MULTILINE)


def test_both_learn_at_once(cluster: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    done = subprocess.run(
        [sys.executable, "-m", "examples.two_adapters", str(STEPS)],
        cwd=tmp_path,
        env={**cluster, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    steps = TOLD.findall(done.stdout)
    assert [int(step) for step, *_ in steps] == [*range(1, STEPS + 1)]
    for column in (1, 2):
        rewards = [float(step[column]) for step in steps]
        assert sum(rewards[:2]) / 2 < 0.75 < sum(rewards[-4:]) / 4, rewards

    (run,) = (tmp_path / "runs" / "two_adapters" / "runs").iterdir()
    samples = ray_gym.load(run).samples.to_pylist()
    for line in ("policy", "user"):
        own = [sample for sample in samples if sample["model"] == line]
        versions = {span["version"] for sample in own for span in sample["versions"]}
        assert {sample["participant"] for sample in own} == {line} and {*range(STEPS)} <= versions <= {
            *range(STEPS + 1)
        }
