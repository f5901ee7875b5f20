"""Checks that Codex plays 20 episodes of `code_repair` in bubblewrap: the rewards are as the hidden checks say, also if
the worker is killed three times meanwhile.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from conftest import PATIENT, REPOSITORY, eventually
from sandboxes import bubblewrap, left_in

from ray_gym.agents.running import BIN
from ray_gym.data.tasks import generate_task
from ray_gym.envs.code_repair import CodeRepair
from ray_gym.envs.code_repair.players import MENDS_OF
from ray_gym.installed.cache import agents_dir
from ray_gym.load import load

pytestmark = [pytest.mark.agents, pytest.mark.timeout(1200)]

CONFIG = REPOSITORY / "configs" / "code_repair_codex.yaml"
EPISODES = 20
KILLED_AFTER = (2, 7, 12)
"""Episodes that are over when the worker is killed."""
SLOW_S = 600.0


def codex() -> None:
    """Skips the test where Codex is missing; where all parts have to be had, it fails."""
    bubblewrap()
    if not (agents_dir() / BIN / "codex").exists():
        reason = "codex is not installed: make agents"
        pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)


def workers_of(driver: int) -> list[psutil.Process]:
    """Returns the worker's process of a run, if it plays now."""
    try:
        below = psutil.Process(driver).children(recursive=True)
        return [one for one in below if " ".join(one.cmdline()).startswith("ray::Worker") and plays(one)]
    except psutil.NoSuchProcess:
        return []


def plays(worker: psutil.Process) -> bool:
    """Says whether a sandbox of a worker has a program of Codex."""
    return any("codex" in part for one in worker.children(recursive=True) for part in one.cmdline()[:2])


@pytest.mark.ray
def test_three_kills_of_the_worker_change_no_reward(tmp_path: Path) -> None:
    codex()
    places = tempfile.mkdtemp(prefix="rgt_")  # short, as sockets are below it
    environment = {**os.environ, **PATIENT, "RAY_ADDRESS": "local", "PYTHONPATH": str(REPOSITORY), "TMPDIR": places}
    command = [sys.executable, "-m", "ray_gym", "rollout", str(CONFIG), "run.name=repairs", "output.roll_rows=1"]
    with (tmp_path / "told").open("w") as told:
        run = subprocess.Popen(
            [*command, f"output.dir={tmp_path}"], env=environment, stdout=told, stderr=subprocess.STDOUT
        )
        try:
            for over in KILLED_AFTER:
                done = lambda: run.poll() is not None or len(list(tmp_path.rglob("part-*.parquet"))) >= over  # noqa: B023, E731
                eventually(done, SLOW_S)
                worker = eventually(lambda: workers_of(run.pid), SLOW_S)[0]
                os.kill(worker.pid, signal.SIGKILL)
                worker.wait(30)
            assert run.wait(SLOW_S) == 0, (tmp_path / "told").read_text()[-3000:]
        finally:
            run.terminate()
            run.wait(60)
    rows = load(str(tmp_path / "repairs")).episodes.to_pylist()
    tasks = [generate_task(CodeRepair(), 0, index).model_dump(mode="json") for index in range(EPISODES)]
    issues = [task["issue"] for task in tasks]
    rewards = {
        issues.index(json.loads(row["task"])["issue"]): row["reward"] for row in rows if row["status"] == "completed"
    }
    assert rewards == {index: float(index % MENDS_OF > 0) for index in range(EPISODES)}
    assert max(row["attempt"] for row in rows) >= 1, "no episode was played on after a kill"
    assert not left_in(Path(places))
