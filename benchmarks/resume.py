"""The driver killed again and again: `python -m benchmarks.resume`.

A run of scripted games on a cluster that lives on; its driver gets SIGKILL at random moments (also while it starts) and the run is
gone on with at once. Meanwhile a reader looks at `episodes/*.parquet` as fast as it can: files are complete, episodes there once.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.chaos.cluster import end_all, raylets
from benchmarks.chaos.processes import Processes
from benchmarks.chaos.rollout import ChaosFailed, Rollout
from benchmarks.command import begin
from ray_gym.record.schema import SCHEMA, without_volatile

PLAYER = "ray_gym.envs.tic_tac_toe.players:{}_player"


@dataclass
class Reader:
    """Reads the run as a trainer might, at any moment."""

    episodes: Path
    looks: int = 0
    most_rows: int = 0
    problems: list[str] = field(default_factory=list)
    _closing: threading.Event = field(default_factory=threading.Event)

    def look_on(self) -> None:
        while not self._closing.wait(0.02):
            self._look()

    def close(self) -> None:
        self._closing.set()

    def _look(self) -> None:
        ids: list[str] = []
        for file in sorted(self.episodes.glob("*.parquet")):
            try:
                table = pq.read_table(file, schema=SCHEMA)
            except Exception as error:
                self.problems.append(f"{file.name}: {error}")
                continue
            ids += table.column("episode_id").to_pylist()
            if None in table.column("status").to_pylist():
                self.problems.append(f"{file.name}: a row without status")
        if len(set(ids)) < len(ids):
            self.problems.append(f"{len(ids)} rows, but {len(set(ids))} episodes")
        if len(ids) < self.most_rows:
            self.problems.append(f"{len(ids)} rows after there had been {self.most_rows}")
        self.looks, self.most_rows = self.looks + 1, max(self.most_rows, len(ids))


def config(episodes: int, seed: int) -> dict[str, Any]:
    player = {"engine": "scripted", "delay_s": 0.25}
    return {
        "run": {"seed": seed},
        "environment": {"id": "tic_tac_toe"},
        "tasks": {"generate": episodes // 2, "repeats": 2},
        "models": {name: {**player, "player": PLAYER.format(name)} for name in ("random", "minimax")},
        "participants": {"policy": {"model": "random"}, "user": {"model": "minimax"}},
        "limits": {"max_turns": 5, "max_steps_per_turn": 1},
        "fanout": {"workers": 2, "concurrency": 32},
        "output": {"roll_s": 1.0},
    }


def disturb(rollout: Rollout, kills: int, rng: random.Random) -> list[float]:
    """Returns how long each driver had lived, in seconds."""
    lived: list[float] = []
    for _ in range(kills):
        began = time.monotonic()
        until = began + rng.uniform(0.3, 7.0)
        while time.monotonic() < until:
            if rollout.has_ended():
                return lived
            time.sleep(0.02)
        rollout.kill_and_resume()
        lived.append(time.monotonic() - began)
    while not rollout.has_ended():
        time.sleep(0.1)
    return lived


def compare(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> int:
    """How many rows are not the same."""
    other = {row["episode_id"]: without_volatile(row) for row in second}
    return sum(without_volatile(row) != other.get(row["episode_id"]) for row in first)


def play(given: argparse.Namespace, output: Path) -> int:
    processes = Processes()
    played = config(given.episodes, given.seed)
    try:
        with raylets(1, processes) as cluster:
            undisturbed = Rollout(output, "undisturbed", cluster.address)
            undisturbed.start(played)
            while not undisturbed.has_ended():
                time.sleep(0.1)
            rollout = Rollout(output, "disturbed", cluster.address)
            reader = Reader(rollout.directory / "episodes")
            reading = threading.Thread(target=reader.look_on, daemon=True)
            reading.start()
            try:
                rollout.start(played)
                lived = disturb(rollout, given.kills, random.Random(given.seed))
            finally:
                rollout.end()
                reader.close()
                reading.join()
    finally:
        end_all(processes)
    rows = rollout.rows()
    different = compare(undisturbed.rows(), rows)
    print(f"drivers killed: {len(lived)}, after {', '.join(f'{s:.1f}' for s in lived)} s")
    print(f"rows: {len(rows)}, episodes: {len({row['episode_id'] for row in rows})}, not as undisturbed: {different}")
    print(f"attempts an episode: {sum(row['attempt'] + 1 for row in rows) / len(rows):.2f}")
    print(f"looks of the reader: {reader.looks}, problems: {len(reader.problems)} {reader.problems[:3]}")
    whole = len(rows) == len({row["episode_id"] for row in rows}) == given.episodes
    return 0 if whole and len(lived) == given.kills and not different and not reader.problems else 1


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    with tempfile.TemporaryDirectory(prefix="ray_gym_resume_") as output:
        try:
            return play(given, Path(output))
        except ChaosFailed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resume", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
