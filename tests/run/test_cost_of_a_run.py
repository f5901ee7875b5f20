"""Plays runs at an endpoint that charges for every request, under `limits.max_cost` and under limits a minute."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from conftest import REPOSITORY, eventually, ray_gym, raylet_children
from paying import CALLS, Till, config_at, open_till

from ray_gym.load import load
from ray_gym.models.price import picos_in

pytestmark = pytest.mark.ray

Cluster = dict[str, str]


def written(till: Till, folder: Path, **limits: Any) -> str:
    config = config_at(till, folder)
    config["models"]["small"] |= limits.pop("model", {})
    config["limits"] = limits
    (folder / "paid.yaml").write_text(yaml.safe_dump(config))
    return str(folder / "paid.yaml")


def reach(cluster: Cluster) -> Cluster:
    return {**cluster, "PYTHONPATH": str(Path(__file__).parent)}


def summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


@pytest.mark.runs
def test_a_run_ends_at_its_most_cost_and_goes_on_with_more(cluster: Cluster, tmp_path: Path) -> None:
    """With 16 calls at once it stops short of the limit, and no call is paid twice or lost."""
    run, first = tmp_path / "runs" / "paid", 0.03
    with open_till() as till:
        done = ray_gym("rollout", written(till, tmp_path, max_cost=first), environment=reach(cluster))
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stdout + done.stderr
        told = re.search(r"limits\.max_cost: 0\.03 is used up: (\S+) is spent, and the next call may", done.stderr)
        assert told and f"`ray-gym rollout --resume {run} limits.max_cost=" in done.stderr, done.stderr
        stopped, spent = summary_of(run), till.charged
        assert 0.6 * picos_in(first) < spent <= picos_in(first) and till.most_at_once > 2
        assert stopped["interrupted"] and picos_in(stopped["cost"]["spent"]) == spent, "nothing was in flight"
        assert "of limits.max_cost spent" in done.stdout
        done = ray_gym("rollout", "--resume", str(run), "limits.max_cost=1", environment=reach(cluster))
        assert done.returncode == 0, done.stdout + done.stderr
        ended, rows = summary_of(run), load(run).episodes.to_pylist()
        assert len(till.times) == 24 * CALLS, "no call was made twice"
    assert round(sum(row["cost"] for row in rows) * 1e12) == till.charged == picos_in(ended["cost"]["spent"])
    assert ended["cost"]["by_model"] == {"small": ended["cost"]["total"]} and len(rows) == 24
    for row in rows:
        [cost] = row["costs"]
        assert cost == {"participant": "policy", "model": "small", "cost": row["cost"]}


@pytest.mark.chaos
def test_no_kill_makes_a_run_spend_more(cluster: Cluster, tmp_path: Path) -> None:
    """Workers, and then the driver, are killed with calls in flight, which the endpoint has charged for."""
    most, run = 0.06, tmp_path / "runs" / "paid"
    command = [sys.executable, "-m", "ray_gym", "rollout"]
    with open_till() as till:
        arguments = [written(till, tmp_path, max_cost=most)]
        for killed in ("worker", "driver", "worker"):
            before = len(till.times)
            process = subprocess.Popen([*command, *arguments], env=reach(cluster), cwd=REPOSITORY)
            arguments = ["--resume", str(run)]
            try:
                eventually(lambda: len(till.times) > before + 6 or process.poll() is not None, 60)  # noqa: B023
                if killed == "worker":
                    for worker in raylet_children(cluster, "Worker")[:1]:
                        worker.kill()
                else:
                    process.kill()
                process.wait(100)
            finally:
                with_children(process)
            eventually(lambda: not raylet_children(cluster, "Worker"), 60)
            assert till.charged <= picos_in(most)
        assert till.charged > 0.2 * picos_in(most)
        kept = json.loads((run / "spent.json").read_text())["picos"]
        assert till.charged <= kept <= picos_in(most)
        done = ray_gym("rollout", "--resume", str(run), "limits.max_cost=1", environment=reach(cluster))
        assert done.returncode == 0 and load(run).episodes.num_rows == 24, done.stdout + done.stderr


def with_children(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that a failed test has left."""
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            os.kill(child.pid, signal.SIGKILL)
        process.kill()
        process.wait(10)


@pytest.mark.runs
def test_two_workers_keep_a_limit_of_requests_together(cluster: Cluster, tmp_path: Path) -> None:
    """Holds each stretch of time against the rate: the endpoint gets no more than that, and one for each worker."""
    a_minute = 1200
    with open_till() as till:
        config = written(till, tmp_path, model={"requests_per_minute": a_minute})
        done = ray_gym("rollout", config, environment=reach(cluster))
        assert done.returncode == 0, done.stdout + done.stderr
        times = sorted(till.times)
    assert len(times) == 24 * CALLS
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            late_s = 0.1  # of an earlier one, on its way
            assert last - first + 1 <= a_minute / 60 * (times[last] - start + late_s) + 2
    assert times[-1] - times[0] < 2 * len(times) / (a_minute / 60), "and it uses most of it"
    rows = load(tmp_path / "runs" / "paid").episodes.to_pylist()
    waited = [event["duration_s"] for row in rows for event in row["events"] if event["kind"] == "message"]
    assert max(waited) > 0.5, "calls waited"
    assert max(row["timing"]["active_s"] for row in rows) < 1, "and that was not their episodes' time"
