"""Workers import what their driver can, in the same order, without a runtime environment, for which Ray would start new ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

SCRIPT = """
import json, sys
import ray
from ray_gym.run.cluster.cluster import connect

def seen():
    return sys.path, dict(ray.get_runtime_context().runtime_env)

with connect():
    print(json.dumps(ray.get(ray.remote(num_cpus=0)(seen).remote())))
"""


@pytest.mark.ray
@pytest.mark.parametrize("on", ["a cluster", pytest.param("none", marks=pytest.mark.runs)])
def test_the_driver_s_paths_are_in_front(on: str, cluster: dict[str, str], tmp_path: Path) -> None:
    project, second = tmp_path / "project", tmp_path / "second"
    project.mkdir()
    environment = {**cluster, **({} if on == "a cluster" else {"RAY_ADDRESS": "local"})}
    environment["PYTHONPATH"] = os.pathsep.join(["../first", str(REPOSITORY), str(second)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=project, env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    path, runtime_env = json.loads(done.stdout)
    wanted = [str(project), f"{tmp_path}/first", str(REPOSITORY), str(second)]
    assert list(dict.fromkeys(path))[:4] == wanted
    assert not runtime_env
