"""Scripted models behind Ray Serve: runs outlive replicas and the controller, and applications never outlive their
runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import REPOSITORY, eventually, ray_gym, raylet_children

from ray_gym.hosting.lease import NAMESPACE
from ray_gym.load import load
from ray_gym.record.schema import without_volatile

pytestmark = pytest.mark.ray

TRANSPORTS = pytest.mark.parametrize("transport", ["handle", "batched"])
SCRIPTED = "configs/tic_tac_toe_scripted.yaml"
Run = subprocess.Popen[str]


class Cluster:
    """Holds the cluster, and what a test started on it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.runs: list[Run] = []

    def start(self, output: Path, name: str, *overrides: str, path: Path = REPOSITORY) -> Run:
        """Starts a run whose policy's model has two replicas."""
        command = [sys.executable, "-m", "ray_gym", "rollout", SCRIPTED, "models.random.replicas=2"]
        settings = [f"output.dir={output}", f"run.name={name}", "output.roll_s=0.3"]
        return self._launch([*command, *settings, *overrides], path)

    def hold(self, run_id: str, delay_s: float, grace_s: float = 60) -> Run:
        script = str(REPOSITORY / "tests" / "engines" / "hold_scripted.py")
        return self._launch([sys.executable, script, run_id, str(delay_s), str(grace_s)], REPOSITORY)

    def _launch(self, command: list[str], path: Path) -> Run:
        environment = {**self.environment, "PYTHONPATH": str(path)}
        pipe = subprocess.PIPE
        run = subprocess.Popen(
            command, env=environment, cwd=REPOSITORY, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )
        self.runs.append(run)
        return run

    def processes(self, *titles: str) -> list[psutil.Process]:
        return raylet_children(self.environment, *titles)

    def has_nothing_of(self, name: str) -> bool:
        return not self.processes(f"ServeReplica:{name}", "Event", "_Janitor", "Worker")

    def leases(self) -> str:
        listing = "ray.util.list_named_actors(all_namespaces=True)"
        return self.python(f"print([a['name'] for a in {listing} if a['namespace'] == {NAMESPACE!r}])")

    def python(self, program: str) -> str:
        """Runs a program that is connected to the cluster, and returns its output."""
        program = f"import ray\nray.init(logging_level='ERROR', log_to_driver=False)\n{program}"
        command, environment = [sys.executable, "-c", program], self.environment
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def ours(cluster: dict[str, str]) -> Iterator[Cluster]:
    ours = Cluster(cluster)
    yield ours
    for run in ours.runs:
        if run.poll() is None:
            run.kill()
            run.communicate()


def said(run: Run, line: str) -> str:
    """Returns the first line of a run's output that begins with `line`."""
    assert run.stdout is not None
    found = next((found for found in run.stdout if found.startswith(line)), None)
    assert found is not None, f"it never said {line!r}"
    return found


def ended_well(run: Run, within_s: float = 100) -> str:
    output, _ = run.communicate(timeout=within_s)
    assert run.returncode == 0, output
    return output


def rows(run: Path) -> dict[str, dict[str, Any]]:
    table = load(run).episodes
    found = {row["episode_id"]: without_volatile(row) for row in table.to_pylist()}
    assert len(found) == table.num_rows, "an episode is there twice"
    return found


def files(run: Path) -> int:
    return len(list((run / "episodes").glob("*.parquet")))


@TRANSPORTS
@pytest.mark.runs
def test_plays_the_same_games_as_in_process_and_leaves_nothing(ours: Cluster, tmp_path: Path, transport: str) -> None:
    """Although the replicas take one call at a time, and 48 episodes wait for them."""
    slow = ["models.random.delay_s=0.005", "models.random.max_ongoing_requests=1"]
    run = ours.start(tmp_path, "served", "tasks.limit=12", f"models.random.transport={transport}", *slow)
    ended_well(ours.start(tmp_path, "in-process", "tasks.limit=12", "models.random.replicas=0"))
    ended_well(run)
    eventually(lambda: ours.has_nothing_of("served"), 10)
    assert ours.leases() == "[]"
    served = rows(tmp_path / "served")
    assert len(served) == 48 and served == rows(tmp_path / "in-process")


@TRANSPORTS
@pytest.mark.chaos
def test_killed_processes_of_serve_cost_no_episode(ours: Cluster, tmp_path: Path, transport: str) -> None:
    by = f"models.random.transport={transport}"
    run = ours.start(tmp_path, "killed", "tasks.limit=100", "models.random.delay_s=0.1", by)
    for victim in ("ServeReplica:killed", "ServeController"):
        seen = files(tmp_path / "killed")
        eventually(lambda seen=seen: files(tmp_path / "killed") >= seen + 2, 60)
        ours.processes(victim)[0].kill()
    ended_well(run)
    summary = json.loads((tmp_path / "killed" / "summary.json").read_text())
    assert summary["status"] == {"completed": 400} == {"completed": len(rows(tmp_path / "killed"))}
    eventually(lambda: ours.has_nothing_of("killed"), 10)


@pytest.mark.runs
def test_a_player_that_raises_in_a_replica_is_its_own_failure(ours: Cluster, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def player(request, rng):\n    raise KeyError('my bug')\n")
    run = ours.start(tmp_path, "raising", "models.random.player=broken:player", "tasks.limit=2", path=tmp_path)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1 and "every episode failed" in output
    in_process = {"kind": "environment", "where": "scripted player (broken.py:2)", "message": "KeyError: 'my bug'"}
    assert [row["failure"] for row in rows(tmp_path / "raising").values()] == 8 * [in_process]


@TRANSPORTS
@pytest.mark.chaos
def test_calls_of_an_application_that_was_deleted_fail_soon(ours: Cluster, tmp_path: Path, transport: str) -> None:
    by = f"models.random.transport={transport}"
    run = ours.start(tmp_path, "gone", "models.random.delay_s=2", "tasks.limit=4", by)
    journal = tmp_path / "gone" / "journal"
    eventually(lambda: any(file.stat().st_size for file in journal.rglob("*") if file.is_file()), 60)
    ours.python("from ray import serve\nserve.delete('gone-random', _blocking=False)")
    run.communicate(timeout=60)
    failures = [row["failure"] for row in rows(tmp_path / "gone").values() if row["status"] == "failed"]
    assert failures and {failure["kind"] for failure in failures} == {"infra"}
    assert {failure["message"] for failure in failures} == {"the application is not up any more; was it deleted?"}
    eventually(lambda: ours.has_nothing_of("gone"), 10)


@pytest.mark.chaos
def test_a_resumed_driver_takes_over_the_application_of_a_killed_one(ours: Cluster, tmp_path: Path) -> None:
    run = ours.start(tmp_path, "resumed", "tasks.limit=60", "models.random.delay_s=0.1")
    eventually(lambda: files(tmp_path / "resumed"), 60)
    replicas = {process.pid for process in ours.processes("ServeReplica:resumed-random")}
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=10)
    resumed = ray_gym("rollout", "--resume", str(tmp_path / "resumed"), environment=ours.environment)
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    assert "model random: found resumed-random up, left by an earlier driver of this run" in resumed.stdout
    assert len(replicas) == 2 and len(rows(tmp_path / "resumed")) == 240
    eventually(lambda: ours.has_nothing_of("resumed"), 10)
    assert ours.leases() == "[]"


@pytest.mark.chaos
def test_an_application_of_other_options_is_deployed_anew(ours: Cluster) -> None:
    first = ours.hold("other", delay_s=0)
    said(first, "up")
    (old,) = ours.processes("ServeReplica:other-held")
    first.kill()
    second = ours.hold("other", delay_s=1)
    said(second, "model held: loading")
    said(second, "up")
    (new,) = ours.processes("ServeReplica:other-held")
    assert new.pid != old.pid
    third = ours.hold("other", delay_s=1)
    assert "run.name: a run of this name has the Serve application other-held up" in said(third, "refused")
    ended_well(third)
    assert new.is_running(), "who is refused takes nothing down"
    ended_well(second)
    eventually(lambda: ours.has_nothing_of("other"), 10)


END_CHANGED = """
import time
import ray
from ray.exceptions import RayActorError
from ray_gym.hosting.application import Application, application_statuses
from ray_gym.weights import record
from ray_gym.weights.checkpoint import Checkpoint, Folder
from ray_gym.weights.holder import find_holder
from ray_gym.weights.lines import ServedLines

def delete_if_changed() -> bool:
    Application().delete_if_changed("changed", "held")
    return "changed-held" in application_statuses()

def is_back() -> bool:
    try:
        return ray.get(find_holder("changed-held").status.remote()).current.version == 7
    except RayActorError:
        return False

print(delete_if_changed())
record.write("changed-held", ServedLines(Checkpoint(7, Folder("/later"))))
ray.kill(find_holder("changed-held"), no_restart=False)  # it comes back with what is recorded
while not is_back():  # until it is dead it answers as before
    time.sleep(0.1)
print(delete_if_changed(), find_holder("changed-held"))
"""


@pytest.mark.chaos
def test_what_a_killed_trainer_left_goes_if_its_weights_are_not_those_of_its_config(ours: Cluster) -> None:
    trainer = ours.hold("changed", delay_s=0)
    said(trainer, "up")
    trainer.kill()
    assert ours.python(END_CHANGED).split() == ["True", "False", "None"]
    eventually(lambda: ours.has_nothing_of("changed"), 10)


@pytest.mark.runs
def test_a_lease_that_is_let_go_ends(ours: Cluster) -> None:
    """The lease ends although nobody gives it back: its last reference is deleted."""
    said = ours.python(
        "import time\nfrom ray_gym.hosting.lease import AppLease, leases_of\nlease = AppLease('let-go', 'run')\n"
        "print(len(leases_of('let-go')))\ndel lease\ndeadline = time.monotonic() + 20\n"
        "while leases_of('let-go') and time.monotonic() < deadline: time.sleep(0.1)\nprint(len(leases_of('let-go')))"
    )
    assert said.split() == ["1", "0"]


@pytest.mark.chaos
def test_what_a_killed_driver_left_is_taken_down_also_when_a_lease_or_a_janitor_had_to_be_started_again(
    ours: Cluster,
) -> None:
    """A lease lives as long as its driver, whatever becomes of its process."""

    def new(title: str, *known: psutil.Process) -> psutil.Process:
        """Names are registered before there is a process."""
        (found,) = eventually(lambda: [process for process in ours.processes(title) if process not in known], 30)
        return found

    leased = ours.hold("leased", delay_s=0, grace_s=1)
    said(leased, "up")
    lease, janitor = new("Event.wait"), new("_Janitor")
    orphan = ours.hold("orphan", delay_s=0, grace_s=1)
    said(orphan, "up")
    other = new("Event", lease)
    lease.kill()
    new("_Janitor", janitor).kill()
    again = new("Event", lease, other)
    assert "lease|leased" in ours.leases()
    for driver in (leased, orphan):
        driver.kill()
        driver.communicate()
    eventually(lambda: ours.has_nothing_of("leased") and ours.has_nothing_of("orphan"), 30)
    assert not again.is_running() and ours.leases() == "[]"
