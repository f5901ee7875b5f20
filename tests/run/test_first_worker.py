"""Checks what a run says while no worker can start, and that nothing of Ray's leaves it without a word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import REPOSITORY, ray_gym, standing_cluster

pytestmark = [pytest.mark.ray, pytest.mark.runs]

CONFIG = "configs/tic_tac_toe_scripted.yaml"
HOLD = """
import ray, sys
ray.init(log_to_driver=False)
group = ray.util.placement_group([{"CPU": 2}])
ray.get(group.ready())
print("held", flush=True)
sys.stdin.read()
"""
TRAINER = """
import sys
from ray_gym import open_stream
with open_stream(sys.argv[1], sys.argv[2:]) as stream:
    next(iter(stream))
"""


@contextmanager
def two_cpus_held(environment: dict[str, str]) -> Iterator[None]:
    """Holds two CPUs of a cluster by another job, while the block runs."""
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdin is not None
        assert job.stdout.readline() == "held\n"
        try:
            yield
        finally:
            job.stdin.close()
            job.wait(timeout=60)


def test_a_run_says_why_no_worker_starts_and_waits_only_if_told(tmp_path: Path) -> None:
    asked = [
        "rollout",
        CONFIG,
        "tasks.limit=2",
        "fanout.cpus_per_worker=3",
        "fanout.workers=1",
        f"output.dir={tmp_path}",
    ]
    why = "a worker asks for 3 CPUs (fanout.cpus_per_worker), and of the cluster's 4 CPUs 2 are free, on one node at most 2"
    with standing_cluster() as environment:
        with two_cpus_held(environment):
            done = ray_gym(*asked, environment=environment)
            assert done.returncode == 1 and why in done.stderr and "or give it time (--wait" in done.stderr, (
                done.stderr + done.stdout
            )
            done = ray_gym(*asked, "--wait", "--wait-deadline", "25", environment=environment)
            assert done.returncode == 1 and done.stderr.count("no worker has started within") >= 2, done.stderr
            waited = re.findall(r"no worker has started within (\d+) s", done.stderr)
            assert int(waited[-1]) >= 25 and why in done.stderr
            trainer = [sys.executable, "-c", TRAINER, CONFIG, *asked[2:], "run.name=mine"]
            done = subprocess.run(
                trainer, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
            )
            assert "RunFailed: no worker has started within" in done.stderr and why in done.stderr, done.stderr
            assert "a stream's wait_s)" in done.stderr
            command = [sys.executable, "-m", "ray_gym", *asked, "--wait"]
            waiting = subprocess.Popen(
                command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            assert waiting.stderr is not None
            told = next(line for line in waiting.stderr if "no worker has started" in line)
            assert why in told
        out, err = waiting.communicate(timeout=120)
        assert waiting.returncode == 0 and "done: 8 of 8 episodes" in out, out + err


def test_a_run_under_uv_run_plays(cluster: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        reason = "uv is not installed: pip install uv"
        pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)
    uv = ["uv", "run", "--no-project", "--python", sys.executable, "python", "-m", "ray_gym"]
    asked = ["rollout", CONFIG, "tasks.limit=2", f"output.dir={tmp_path}"]
    done = subprocess.run(
        [*uv, *asked], env=cluster, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and "done: 8 of 8 episodes" in done.stdout, done.stdout + done.stderr


def test_a_module_that_hides_pythons_is_told(cluster: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "glob.py").write_text("")
    command = [str(Path(sys.executable).parent / "ray-gym"), "rollout", "tic_tac_toe_scripted", "tasks.limit=2"]
    done = subprocess.run(command, env=cluster, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.startswith(
        f"ray-gym: {tmp_path / 'glob.py'}: it hides Python's own module glob"
    )
    assert done.stderr.count("\n") == 1 and not (tmp_path / "runs").exists()


def test_an_environment_beside_its_config_is_found_from_elsewhere_and_resumed(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / "nego_beside.py").write_text(
        "from ray_gym.envs.tic_tac_toe import TicTacToe\nclass Nego(TicTacToe): pass\n"
    )
    text = (REPOSITORY / CONFIG).read_text().replace("id: tic_tac_toe", "id: 'nego_beside:Nego'")
    (project / "mine.yaml").write_text(text)
    gym = [str(Path(sys.executable).parent / "ray-gym"), "rollout"]
    run = tmp_path / "runs" / "mine"
    play = [*gym, str(project / "mine.yaml"), "tasks.limit=2", "run.name=mine", f"output.dir={tmp_path / 'runs'}"]
    for command in (play, [*gym, "--resume", str(run)]):
        done = subprocess.run(
            command, env=cluster, cwd=elsewhere, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0 and "done: 8 of 8 episodes" in done.stdout, done.stdout + done.stderr
