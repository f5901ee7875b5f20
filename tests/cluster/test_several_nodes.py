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
JOB = "nodes"


UNPACK = """
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

ray.init()
look = ray.remote(num_cpus=0)(lambda: None)
for node in ray.nodes():
    ray.get(look.options(scheduling_strategy=On(node["NodeID"], soft=False)).remote())
"""
"""Program that has the nodes unpack the working directory one after the other."""


def ray_job(started: Cluster, *arguments: str, within_s: float = 240) -> str:
    """Runs a command of `ray job`, and returns what it says. A run is asked for, not followed: Ray's own following of a log
    once stood still, behind a run that had ended.
    """
    action, *rest = arguments
    command = [*started.machines.outside.prefix, RAY, "job", action, "--address", started.dashboard, *rest]
    done = subprocess.run(
        command, env=started.environment, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=within_s
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def unpack(started: Cluster) -> None:
    """Has each node unpack the working directory. The nodes of this test share a folder: a worker of one would find half of
    the code while another one unpacks it.
    """
    ray_job(started, "submit", "--working-dir", ".", "--", "python", "-c", UNPACK)


def submit(started: Cluster, run: Path) -> None:
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
    ray_job(started, "submit", "--no-wait", f"--submission-id={JOB}", "--working-dir", ".", "--", *rollout)


def committed(run: Path) -> int:
    """Counts the episodes that anyone who looks at the files sees."""
    return sum(pq.read_metadata(file).num_rows for file in (run / "episodes").glob("*.parquet"))


def test_a_node_joins_and_another_is_killed(tmp_path: Path) -> None:
    run = tmp_path / "nodes"
    with cluster(NODES) as started:
        first = {node.address for node in started.nodes}
        unpack(started)
        submit(started, run)
        try:
            eventually(lambda: committed(run) >= DISTURBED_AT, 300)
            victim, joined = started.nodes[-1], started.add()
            started.kill(victim)
            eventually((run / "summary.json").exists, 300)
        except TimeoutError as error:
            raise AssertionError(ray_job(started, "logs", JOB)[-4000:]) from error
        eventually(lambda: "succeeded" in ray_job(started, "status", JOB), 60)
    rows = load(run).episodes.to_pylist()
    assert len(rows) == len({row["episode_id"] for row in rows}) == EPISODES
    assert all(row["status"] == "completed" and row["events"] for row in rows)
    summary = json.loads((run / "summary.json").read_text())
    played = {node["address"]: node["episodes"] for node in summary["nodes"]}
    assert {address for address, count in played.items() if count} == {*first, joined.address}
    assert sum(played.values()) == EPISODES
    assert summary["recovery"]["workers_lost"], f"{victim.address} was killed too late, or had no worker"
