"""`ray-gym weights`, as far as it needs no model: what it refuses."""

from __future__ import annotations

import os

import pytest
from conftest import ray_gym


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--version", "3"], "give --version with --path or --adapter"),
        (["--path", "/x"], "give --version with --path or --adapter"),
        (["--version", "3", "--path", "/x", "--mode", "now"], "--mode: 'now' is none of wait, keep, abort"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_started(arguments: list[str], told: str) -> None:
    done = ray_gym("weights", "run-policy", *arguments, environment=dict(os.environ))
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr


@pytest.mark.ray
def test_a_model_that_is_not_up_is_refused(cluster: dict[str, str]) -> None:
    done = ray_gym("weights", "run-policy", environment=cluster)
    assert done.returncode == 2 and "run-policy: no run has a model up under this name" in done.stderr
