"""A submitted run on three nodes plays each episode once, on all of them, though a node is killed and another joins.

The nodes are raylets with addresses of their own: network namespaces where this process may make them, else loopback addresses.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY, eventually
from several_nodes import RAY, Cluster, cluster

from ray_gym.load import load

pytestmark = [pytest.mark.nodes, pytest.mark.ray, pytest.mark.timeout(700)]

NODES = 3
EPISODES, REPEATS = 900, 4
DISTURBED_AT = EPISODES // 10
"""Number of committed episodes at which a node joins and another is killed."""


UNPACK = """
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

ray.init()
look = ray.remote(num_cpus=0)(lambda: None)
for node in ray.nodes():
    ray.get(look.options(scheduling_strategy=On(node["NodeID"], soft=False)).remote())
"""
"""Program that has the nodes unpack the working directory one after the other."""


def unpack(started: Cluster) -> None:
    """Has each node unpack the working directory. The nodes of this test share a folder: a worker of one would find half of
    the code while another one unpacks it.
    """
    job = [RAY, "job", "submit", "--address", started.dashboard, "--working-dir", ".", "--", "python", "-c", UNPACK]
    command = [*started.machines.outside.prefix, *job]
    done = subprocess.run(
        command, env=started.environment, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def submit(started: Cluster, run: Path, log: Path) -> subprocess.Popen[bytes]:
    overrides = {
        "run.name": run.name,
        "output.dir": run.parent,
        "output.roll_s": 0.5,
        "tasks.generate": EPISODES // REPEATS,
        "tasks.repeats": REPEATS,
        "fanout.workers": 6,
        "fanout.concurrency": 60,
        "models.random.delay_s": 0.7,
        "models.minimax.delay_s": 0.7,
    }
    given = [f"{key}={value}" for key, value in overrides.items()]
    rollout = ["python", "-m", "ray_gym", "rollout", "configs/tic_tac_toe_scripted.yaml", *given]
    job = [RAY, "job", "submit", "--address", started.dashboard, "--working-dir", ".", "--", *rollout]
    with log.open("wb") as output:
        return subprocess.Popen(
            [*started.machines.outside.prefix, *job],
            env=started.environment,
            cwd=REPOSITORY,
            stdout=output,
            stderr=output,
        )


def committed(run: Path) -> int:
    """Counts the episodes that anyone who looks at the files sees."""
    return sum(pq.read_metadata(file).num_rows for file in (run / "episodes").glob("*.parquet"))


def test_a_node_joins_and_another_is_killed(tmp_path: Path) -> None:
    run, log = tmp_path / "nodes", tmp_path / "job.log"
    with cluster(NODES) as started:
        first = {node.address for node in started.nodes}
        unpack(started)
        job = submit(started, run, log)
        try:
            eventually(lambda: committed(run) >= DISTURBED_AT or job.poll() is not None, 300)
            assert job.poll() is None, log.read_text()[-4000:]
            victim, joined = started.nodes[-1], started.add()
            started.kill(victim)
            assert job.wait(timeout=300) == 0, log.read_text()[-4000:]
        finally:
            job.kill()
            job.wait()
    rows = load(run).episodes.to_pylist()
    assert len(rows) == len({row["episode_id"] for row in rows}) == EPISODES
    assert all(row["status"] == "completed" and row["events"] for row in rows)
    summary = json.loads((run / "summary.json").read_text())
    played = {node["address"]: node["episodes"] for node in summary["nodes"]}
    assert {address for address, count in played.items() if count} == {*first, joined.address}
    assert sum(played.values()) == EPISODES
    assert summary["recovery"]["workers_lost"], f"{victim.address} was killed too late, or had no worker"
