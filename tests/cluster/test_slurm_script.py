"""cluster/slurm.sh, run to its end. SLURM's three commands are played by small scripts; nodes are raylets on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import REPOSITORY, eventually, free_port, stop_cluster

from ray_gym.load import load

COMMANDS = {
    "scontrol": 'for node in $3; do echo "$node"; done',  # show hostnames LIST
    "srun": 'while [[ "$1" == --* ]]; do shift; done; exec "$@"',
    "getent": 'case "$2" in p1) echo 127.0.0.2;; u1) echo 127.0.0.3;; *) echo 127.0.0.1;; esac',
}


@dataclass(frozen=True)
class Allocation:
    """A repository with a venv, and an allocation of three parts."""

    folder: Path
    environment: dict[str, str]

    def batch(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self.said.open("wb") as said:  # no pipe: nodes would hold it open
            return subprocess.Popen(
                [str(REPOSITORY / "cluster" / "slurm.sh"), *arguments],
                env=self.environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def said(self) -> Path:
        return self.folder / "said.log"


@pytest.fixture
def allocation(tmp_path: Path) -> Iterator[Allocation]:
    commands, job = tmp_path / "commands", uuid.uuid4().hex[:8]
    commands.mkdir()
    for name, script in COMMANDS.items():
        (commands / name).write_text(f"#!/bin/bash\n{script}\n")
        (commands / name).chmod(0o755)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
    parts = {
        f"SLURM_{name}_HET_GROUP_{part}": value
        for part, node in enumerate(("c1", "p1", "u1"))
        for name, value in (("JOB_NODELIST", node), ("CPUS_PER_TASK", "4"))
    }
    environment = {
        **inherited,
        **parts,
        "SLURM_JOB_ID": job,
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "RAY_GYM_PORT": str(free_port()),
        "RAY_GYM_LOOK_S": "1",
    }
    yield Allocation(tmp_path, environment)
    stop_cluster(f"/tmp/ray-{job}")


CONFIG = str(REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml")


@pytest.mark.ray
def test_a_run_is_played_on_nodes_with_labels_and_leaves_no_token(allocation: Allocation) -> None:
    runs = allocation.folder / "runs"
    batch = allocation.batch(
        CONFIG, "tasks.limit=10", "run.name=first", f"output.dir={runs}", "fanout.cpus_per_worker=1"
    )
    assert batch.wait(timeout=200) == 0, allocation.said.read_text()
    assert load(runs / "first").episodes.num_rows == 40
    assert not list(allocation.folder.glob(".ray-token*"))


@pytest.mark.ray
def test_the_end_of_its_time_ends_the_run_like_ctrl_c(allocation: Allocation) -> None:
    runs = allocation.folder / "runs"
    slow = ["models.random.delay_s=0.05", "models.minimax.delay_s=0.05", "output.roll_s=0.3"]
    batch = allocation.batch(CONFIG, "run.name=first", f"output.dir={runs}", *slow)
    eventually(lambda: list((runs / "first" / "episodes").glob("*.parquet")), 150)
    os.kill(batch.pid, signal.SIGTERM)
    assert batch.wait(timeout=90) == 1 and "interrupted" in allocation.said.read_text(), allocation.said.read_text()
    assert not list(allocation.folder.glob(".ray-token*"))
