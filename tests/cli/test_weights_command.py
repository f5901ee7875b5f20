"""Checks what `ray-gym weights` refuses, as far as that needs no model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import ray_gym, ray_gym_here


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--version", "3"], "give --version with --path or --adapter"),
        (["--path", "/x"], "give --version with --path or --adapter"),
        (["--version", "3", "--path", "/x", "--mode", "now"], "--mode: 'now' is none of wait, keep, abort"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_started(arguments: list[str], told: str) -> None:
    done = ray_gym_here("weights", "run-policy", *arguments, environment=dict(os.environ))
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr


def test_without_a_cluster_none_is_started(tmp_path: Path) -> None:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    done = ray_gym_here("weights", "run-policy", environment={**inherited, "RAY_TMPDIR": str(tmp_path)})
    assert done.returncode == 1 and "no Ray cluster is running here" in done.stderr


@pytest.mark.ray
def test_a_model_that_is_not_up_is_refused(cluster: dict[str, str]) -> None:
    done = ray_gym("weights", "run-policy", environment=cluster)
    assert done.returncode == 2 and "run-policy: no run has a model up under this name" in done.stderr
