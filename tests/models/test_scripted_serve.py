"""Scripted models behind Ray Serve: runs outlive replicas and the controller, and applications never outlive their runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import REPOSITORY, eventually, ray_gym

from ray_gym.lease import NAMESPACE
from ray_gym.load import load
from ray_gym.trajectory import without_volatile

pytestmark = pytest.mark.ray

SCRIPTED = "configs/tic_tac_toe_scripted.yaml"
LEASES = f"""
import ray
ray.init(logging_level="ERROR", log_to_driver=False)
print([a["name"] for a in ray.util.list_named_actors(all_namespaces=True) if a["namespace"] == {NAMESPACE!r}])
"""
Environment = dict[str, str]
Run = subprocess.Popen[str]


def start(cluster: Environment, output: Path, name: str, *overrides: str) -> Run:
    """A run of which the policy's model has two replicas."""
    command = [sys.executable, "-m", "ray_gym", "rollout", SCRIPTED, "models.random.replicas=2"]
    return background(cluster, [*command, f"output.dir={output}", f"run.name={name}", "output.roll_s=0.3", *overrides])


def hold(cluster: Environment, run_id: str, delay_s: float, grace_s: float = 60) -> Run:
    script = REPOSITORY / "tests" / "models" / "hold_scripted.py"
    environment = {**cluster, "PYTHONPATH": str(REPOSITORY)}
    return background(environment, [sys.executable, str(script), run_id, str(delay_s), str(grace_s)])


def background(environment: Environment, command: list[str]) -> Run:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, cwd=REPOSITORY, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def said(run: Run, line: str) -> str:
    """The first line of its output that begins so."""
    assert run.stdout is not None
    found = next((found for found in run.stdout if found.startswith(line)), None)
    assert found is not None, f"it never said {line!r}"
    return found


def ended_well(run: Run, within_s: float = 100) -> str:
    output, _ = run.communicate(timeout=within_s)
    assert run.returncode == 0, output
    return output


def processes(cluster: Environment, title: str) -> list[psutil.Process]:
    """Processes of this cluster by the title that Ray gives them: other clusters on the machine are not ours."""
    found = []
    for process in psutil.process_iter():
        try:
            if " ".join(process.cmdline()).startswith(f"ray::{title}"):
                raylet = process.parent()
                if raylet is not None and cluster["RAY_ADDRESS"] in " ".join(raylet.cmdline()):
                    found.append(process)
        except psutil.Error:
            continue
    return found


def nothing_is_left(cluster: Environment, name: str) -> bool:
    titles = (f"ServeReplica:{name}", "_Lease", "_Janitor", "Worker")
    return not any(processes(cluster, title) for title in titles)


def leases(cluster: Environment) -> str:
    command = [sys.executable, "-c", LEASES]
    return subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def rows(run: Path) -> dict[str, dict[str, Any]]:
    table = load(run).episodes
    found = {row["episode_id"]: without_volatile(row) for row in table.to_pylist()}
    assert len(found) == table.num_rows, "an episode is there twice"
    return found


def mid_run(run: Path) -> bool:
    return len(list((run / "episodes").glob("*.parquet"))) >= 2


def test_plays_the_same_games_as_in_process_and_leaves_nothing(cluster: Environment, tmp_path: Path) -> None:
    ended_well(start(cluster, tmp_path, "served", "tasks.limit=50"))
    eventually(lambda: nothing_is_left(cluster, "served"), 10)
    assert leases(cluster) == "[]"
    ended_well(start(cluster, tmp_path, "in-process", "tasks.limit=50", "models.random.replicas=0"))
    served = rows(tmp_path / "served")
    assert len(served) == 200 and served == rows(tmp_path / "in-process")


@pytest.mark.parametrize("victim", ["ServeReplica:killed", "ServeController"])
def test_a_killed_process_of_serve_costs_no_episode(cluster: Environment, tmp_path: Path, victim: str) -> None:
    run = start(cluster, tmp_path, "killed", "tasks.limit=150", "models.random.delay_s=0.1")
    eventually(lambda: mid_run(tmp_path / "killed"), 60)
    processes(cluster, victim)[0].kill()
    ended_well(run)
    summary = json.loads((tmp_path / "killed" / "summary.json").read_text())
    assert summary["status"] == {"completed": 600} == {"completed": len(rows(tmp_path / "killed"))}
    eventually(lambda: nothing_is_left(cluster, "killed"), 10)


def test_more_calls_than_the_replicas_take_wait_for_their_turn(cluster: Environment, tmp_path: Path) -> None:
    slow = ["models.random.delay_s=0.005", "models.random.max_ongoing_requests=1", "fanout.concurrency=100"]
    ended_well(start(cluster, tmp_path, "pressed", "tasks.limit=30", *slow))
    assert {row["status"] for row in rows(tmp_path / "pressed").values()} == {"completed"}


def test_a_player_that_raises_in_a_replica_is_the_same_failure(cluster: Environment, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def player(request, rng):\n    raise KeyError('my bug')\n")
    environment = {**cluster, "PYTHONPATH": str(tmp_path)}
    failures = []
    for replicas in (0, 2):
        overrides = ["models.random.player=broken:player", f"models.random.replicas={replicas}", "tasks.limit=2"]
        run = start(environment, tmp_path, f"raising-{replicas}", *overrides)
        output, _ = run.communicate(timeout=60)
        assert run.returncode == 1, output
        failures.append([row["failure"] for row in rows(tmp_path / f"raising-{replicas}").values()])
    assert failures[0] == failures[1] and len(failures[0]) == 8
    assert failures[0][0] == {
        "kind": "environment",
        "where": "scripted player",
        "message": "KeyError: 'my bug'",
    }


def test_a_resumed_driver_takes_over_the_application_of_a_killed_one(cluster: Environment, tmp_path: Path) -> None:
    run = start(cluster, tmp_path, "resumed", "tasks.limit=150", "models.random.delay_s=0.1")
    eventually(lambda: mid_run(tmp_path / "resumed"), 60)
    replicas = {process.pid for process in processes(cluster, "ServeReplica:resumed-random")}
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=10)
    resumed = ray_gym("rollout", "--resume", str(tmp_path / "resumed"), environment=cluster)
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    assert "model random: found resumed-random up, left by an earlier driver of this run" in resumed.stdout
    assert len(replicas) == 2 and len(rows(tmp_path / "resumed")) == 600
    eventually(lambda: nothing_is_left(cluster, "resumed"), 10)
    assert leases(cluster) == "[]"


def test_an_application_of_other_options_is_deployed_anew(cluster: Environment) -> None:
    first = hold(cluster, "other", delay_s=0)
    said(first, "up")
    (old,) = processes(cluster, "ServeReplica:other-held")
    first.kill()
    second = hold(cluster, "other", delay_s=1)
    said(second, "model held: loading")
    said(second, "up")
    (new,) = processes(cluster, "ServeReplica:other-held")
    assert new.pid != old.pid
    third = hold(cluster, "other", delay_s=1)
    assert "run.name: a run of this name has the Serve application other-held up" in said(third, "refused")
    ended_well(third)
    assert new.is_running(), "who is refused takes nothing down"
    ended_well(second)
    eventually(lambda: nothing_is_left(cluster, "other"), 10)


def test_the_janitor_takes_down_what_a_killed_driver_left(cluster: Environment) -> None:
    driver = hold(cluster, "orphan", delay_s=0, grace_s=1)
    said(driver, "up")
    processes(cluster, "_Janitor")[0].kill()  # Ray starts it again
    driver.kill()
    driver.communicate()
    eventually(lambda: nothing_is_left(cluster, "orphan"), 30)
    assert leases(cluster) == "[]"
