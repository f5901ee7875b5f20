"""Tests an environment that `ray-gym new-env` made outside of this repository, from nothing to a run on a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import RAY, REPOSITORY

from ray_gym.load import load

pytestmark = [pytest.mark.ray, pytest.mark.runs]

Environment = dict[str, str]
SECONDS = 60
"""From nothing to a finished run."""
LACKS_A_MODULE = """\
import sys
from ray_gym import Environment

if sys.argv[0].endswith("default_worker.py"):
    import installed_where_the_driver_is


class Half(Environment):
    def generate(self, rng, index):
        return self.task_type()

    def setup(self, task, episode):
        return {}

    def score(self, state, episode):
        return 0.0
"""


def run(folder: Path, environment: Environment, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_from_nothing_to_a_submitted_job(cluster: Environment, tmp_path: Path) -> None:
    """The job's own PYTHONPATH stands for ray_gym being installed on all nodes; the environment comes with the working directory."""
    installed = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    project, output = tmp_path / "harvest", tmp_path / "runs"
    runtime = {"env_vars": {"PYTHONPATH": str(REPOSITORY), "RAY_AUTH_TOKEN": cluster["RAY_AUTH_TOKEN"]}}
    submit = [RAY, "job", "submit", "--working-dir", ".", "--runtime-env-json", json.dumps(runtime), "--"]
    play = ["python", "-m", "ray_gym", "rollout", "config.yaml", f"output.dir={output}", "environment.id=harvest"]
    began = time.monotonic()
    made = run(tmp_path, installed, sys.executable, "-m", "ray_gym", "new-env", "harvest")
    assert made.returncode == 0, made.stderr
    tested = run(project, installed, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    played = run(project, {**cluster, "RAY_ADDRESS": cluster["RAY_GYM_TEST_JOBS"]}, *submit, *play)
    took = time.monotonic() - began
    assert "succeeded" in played.stdout, played.stdout + played.stderr
    (directory,) = output.iterdir()
    assert load(directory).episodes["reward"].to_pylist() == [1.0] * 40
    print(f"from nothing to a finished run: {took:.1f} s")
    assert took < SECONDS


def test_workers_without_the_code(cluster: Environment, tmp_path: Path) -> None:
    """Missing code is reported at once, with what to do, and no run is left behind."""
    (tmp_path / "half.py").write_text(LACKS_A_MODULE)
    (tmp_path / "config.yaml").write_text(
        "environment: {id: 'half:Half'}\ntasks: {generate: 2}\nparticipants: {policy: {model: echo}}\n"
        "models: {echo: {engine: scripted, player: 'builtins:print'}}\noutput: {dir: runs}\n"
    )
    installed = {**cluster, "PYTHONPATH": str(REPOSITORY)}
    done = run(tmp_path, installed, sys.executable, "-m", "ray_gym", "rollout", "config.yaml")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "can't import installed_where_the_driver_is: the code of this run is not there" in done.stderr
    assert "ray job submit --working-dir ." in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
