"""cluster/slurm.sh, run to its end. SLURM's commands have doubles (`slurm_doubles`); its nodes are `machines`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import REPOSITORY, eventually, stop_cluster
from machines import machines

from ray_gym.load import load

pytestmark = [pytest.mark.nodes, pytest.mark.ray, pytest.mark.timeout(600)]

DOUBLES = Path(__file__).parent / "slurm_doubles"
CONFIG = str(REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml")
NODES = ("c1", "c2", "p1", "u1")
PARTS = ("c1,c2", "p1", "u1")


@dataclass(frozen=True)
class Allocation:
    """An allocation has three parts, and a repository with a venv."""

    folder: Path
    environment: dict[str, str]
    first: tuple[str, ...]
    """Before a command that is to run on the first node, where SLURM runs the script."""

    def batch(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self.said.open("ab") as said:  # no pipe: nodes would hold it open
            return subprocess.Popen(
                [*self.first, str(REPOSITORY / "cluster" / "slurm.sh"), *arguments],
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
    job = uuid.uuid4().hex[:8]
    (tmp_path / ".venv").symlink_to(sys.prefix)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
    parts = {
        f"SLURM_{name}_HET_GROUP_{part}": value
        for part, nodes in enumerate(PARTS)
        for name, value in (("JOB_NODELIST", nodes), ("CPUS_PER_TASK", "2"))
    }
    with machines() as made:
        if "namespaces" not in made.kind:
            pytest.skip("needs the right to make network namespaces and mounts")
        nodes = {name: made.add() for name in NODES}
        hosts = tmp_path / "hosts"
        hosts.write_text("".join(f"{name} {node.address} {' '.join(node.prefix)}\n" for name, node in nodes.items()))
        environment = {
            **inherited,
            **parts,
            "SLURM_DOUBLES_HOSTS": str(hosts),
            "SLURM_JOB_ID": job,
            "SLURM_SUBMIT_DIR": str(tmp_path),
            "PATH": f"{DOUBLES}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "RAY_raylet_start_wait_time_s": "120",  # this and the next: for a machine that is busy
            "RAY_worker_niceness": "0",
            "RAY_GYM_LOOK_S": "1",
        }
        yield Allocation(tmp_path, environment, nodes["c1"].prefix)
        stop_cluster(f"/tmp/ray-{job}")
    for folder in Path("/tmp").glob(f"ray-{job}*"):
        shutil.rmtree(folder, ignore_errors=True)


def test_a_run_is_played_and_ended_with_its_time_and_resumed(allocation: Allocation) -> None:
    runs, said = allocation.folder / "runs", allocation.said
    slow = ["models.random.delay_s=0.05", "models.minimax.delay_s=0.05", "output.roll_s=0.3"]
    asked = ["tasks.limit=100", "run.name=first", f"output.dir={runs}", "fanout.workers=4", "fanout.cpus_per_worker=1"]
    batch = allocation.batch(CONFIG, *asked, *slow)
    eventually(lambda: list((runs / "first" / "episodes").glob("*.parquet")) or batch.poll() is not None, 300)
    assert batch.poll() is None, said.read_text()
    os.kill(batch.pid, signal.SIGTERM)
    assert batch.wait(timeout=90) == 1 and "interrupted" in said.read_text(), said.read_text()
    assert 0 < load(runs / "first").episodes.num_rows < 400

    batch = allocation.batch("--resume", str(runs / "first"))
    assert batch.wait(timeout=300) == 0, said.read_text()
    assert load(runs / "first").episodes.num_rows == 400
    assert not list(allocation.folder.glob(".ray-token*"))
