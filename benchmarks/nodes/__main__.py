"""A submitted run on several nodes, of which one is killed and one joins: `python -m benchmarks.nodes`.

Three raylets with addresses of their own (network namespaces where this process may make them, else loopback addresses), started by
`ray start`; `ray job submit` of scripted games. When a part of them is committed, a node joins, and one that is not the
head gets SIGKILL, all of its processes at once. Every episode has to end once, and every node to have played some.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.command import begin, positive
from benchmarks.nodes.cluster import RAY, Cluster, cluster
from ray_gym.load import load

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = "configs/tic_tac_toe_scripted.yaml"
NODES = 3
WORKERS = 6
REPEATS = 4
DISTURB_AFTER = 0.1
"""The share of the episodes that is committed before a node joins and another is killed."""
LOOK_S = 0.3


class NodesFailed(Exception):
    """What was to be shown was not."""


@dataclass(frozen=True, slots=True)
class Shown:
    rows: list[dict[str, Any]]
    summary: dict[str, Any]
    asked: int
    killed: str
    joined: str
    seconds: float
    addresses: tuple[str, ...]
    """Of the nodes that were there first."""

    def problems(self) -> list[str]:
        found = []
        ids = {row["episode_id"] for row in self.rows}
        if not len(self.rows) == len(ids) == self.asked:
            found.append(f"{len(self.rows)} rows of {len(ids)} episodes, {self.asked} were asked for")
        if broken := [row["episode_id"] for row in self.rows if row["status"] != "completed" or not row["events"]]:
            found.append(f"{len(broken)} rows are not of completed games")
        played = {node["address"]: node["episodes"] for node in self.summary["nodes"]}
        if idle := sorted({*self.addresses, self.joined} - {address for address, count in played.items() if count}):
            found.append(f"no episodes on {', '.join(idle)}")
        if sum(played.values()) != self.asked:
            found.append(f"the nodes have {sum(played.values())} episodes by summary.json")
        if not self.summary["recovery"]["workers_lost"]:
            found.append(f"no worker was lost with {self.killed}: it was killed too late, or had none")
        return found


def play(started: Cluster, output: Path, episodes: int, concurrency: int, delay_s: float) -> Shown:
    """Errors: NodesFailed."""
    run = output / "nodes"
    overrides = {
        "run.name": run.name,
        "output.dir": output,
        "output.roll_s": 0.5,
        "tasks.generate": episodes // REPEATS,
        "tasks.repeats": REPEATS,
        "fanout.workers": WORKERS,
        "fanout.concurrency": concurrency,
        "models.random.delay_s": delay_s,
        "models.minimax.delay_s": delay_s,
    }
    given = [f"{key}={value}" for key, value in overrides.items()]
    outside = started.machines.outside.prefix
    submit = [*outside, RAY, "job", "submit", "--address", started.dashboard, "--working-dir", "."]
    addresses = tuple(node.address for node in started.nodes)
    began = time.monotonic()
    with (output / "job.log").open("w+") as log:
        job = subprocess.Popen(
            [*submit, "--", "python", "-m", "ray_gym", "rollout", CONFIG, *given],
            env=started.environment,
            cwd=REPOSITORY,
            stdout=log,
            stderr=log,
        )
        try:

            def wait_for(condition: Callable[[], bool], within_s: float) -> None:
                deadline = time.monotonic() + within_s
                while not condition():
                    if (job.poll() is not None or time.monotonic() > deadline) and not condition():
                        log.seek(0)
                        raise NodesFailed(f"exit code {job.poll()} after {within_s:g} s at most:\n{log.read()[-4000:]}")
                    time.sleep(LOOK_S)

            wait_for(lambda: committed(run) >= DISTURB_AFTER * episodes, 300)
            victim = started.nodes[-1]
            joined = started.add()
            print(f"{committed(run)} committed: {joined.address} joined", flush=True)
            processes = started.kill(victim)
            print(f"{committed(run)} committed: killed {victim.address}, {processes} processes", flush=True)
            wait_for(lambda: job.poll() == 0, 600)
        finally:
            job.kill()
            job.wait()
    summary = json.loads((run / "summary.json").read_text())
    rows = load(run).episodes.to_pylist()
    took = time.monotonic() - began
    return Shown(rows, summary, episodes, victim.address, joined.address, took, addresses)


def committed(run: Path) -> int:
    """Episodes, as anyone who looks at the files sees them."""
    return sum(pq.read_metadata(file).num_rows for file in (run / "episodes").glob("*.parquet"))


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    with tempfile.TemporaryDirectory(prefix="ray_gym_nodes_runs_") as output, cluster(NODES) as started:
        print(f"{NODES} raylets in {started.machines.kind}: {', '.join(node.address for node in started.nodes)}")
        try:
            shown = play(started, Path(output), given.episodes, given.concurrency, given.delay)
        except NodesFailed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    for node in shown.summary["nodes"]:
        print(f"{node['address']}: {node['workers']} workers, {node['episodes']} episodes")
    recovery = {name: count for name, count in shown.summary["recovery"].items() if count}
    print(f"rows: {len(shown.rows)}, episodes: {len({row['episode_id'] for row in shown.rows})}, {shown.seconds:.0f} s")
    print(f"recovery: {recovery}")
    problems = shown.problems()
    print("\n".join(f"problem: {problem}" for problem in problems) or "every episode ended once, on all nodes")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nodes", description=__doc__)
    parser.add_argument("--episodes", type=positive, default=2000)
    parser.add_argument("--concurrency", type=positive, default=120, help="episodes in flight")
    parser.add_argument("--delay", type=float, default=0.5, help="seconds before each move")
    return parser


if __name__ == "__main__":
    sys.exit(main())
