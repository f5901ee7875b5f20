"""A trainer that eats groups at half the speed at which they can be played: `python -m benchmarks.trainer_stream`.

Three trainers, one after the other, each a process of its own on one Ray cluster: one that eats as fast as it can, which says how fast
groups are played; one that eats half as fast, for `--seconds`; and one that is killed `--kills` times and goes on from its saved cursor.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import ray

from benchmarks.command import begin
from benchmarks.measure import MeasurementFailed, Trace, Watch
from benchmarks.orchestration import table
from benchmarks.trainer_stream.checkpoint import Checkpoint
from benchmarks.trainer_stream.lives import trainer
from benchmarks.trainer_stream.verdict import judge
from ray_gym.run.cluster import cluster

STALENESS = 2
MOST_GROWTH = 0.10
POINTS = 10
GONE_S = 20.0
"""How long what a killed trainer had started may take to end."""


def production(folder: Path, seconds: float, options: Sequence[str]) -> float:
    """Groups a second when nothing holds the fan-out back but what it plays on."""
    with trainer(folder, *options) as eager:
        eager.wait_for_steps(3)
        began, before = time.monotonic(), len(Checkpoint.load(folder).consumed)
        time.sleep(seconds)
        return (len(Checkpoint.load(folder).consumed) - before) / (time.monotonic() - began)


def steady(folder: Path, seconds: float, speed: float, options: Sequence[str]) -> bool:
    with trainer(folder, *options, "--groups-per-s", f"{speed / 2:.3f}") as slow, Watch(os.getpid()) as watch:
        slow.wait_for_steps(2)
        began, before = time.time(), len(Checkpoint.load(folder).consumed)
        time.sleep(seconds)
        ended, after = time.time(), len(Checkpoint.load(folder).consumed)
        assert slow.process is not None
        named = {"trainer": [trace for process, trace in watch.traces.items() if process.pid == slow.process.pid]}
        status = slow.stop()
    for name in ("Host", "Worker"):
        named[name.lower()] = [
            trace for trace in watch.traces.values() if any(f"ray::{name}" in title for title in trace.titles)
        ]
    eaten, saved = (after - before) / (ended - began), Checkpoint.load(folder)
    lines = [memory(name, trace, began, ended) for name, traces in named.items() for trace in traces[-1:]]
    print(table(lines), "\n")
    print(f"played at {speed:.1f} groups/s when nobody waits; eaten at {eaten:.1f}: ratio {eaten / speed:.2f}")
    print(
        f"open groups: {status['open']} of at most {status['max_open']}, ahead {status['ahead']} of {status['max_ahead']}"
    )
    print(f"stalest group: {saved.stalest} versions behind (bound {STALENESS}); dropped as stale: {status['stale']}")
    flat = all(line["growth"] <= MOST_GROWTH for line in lines)
    if len(lines) < 3:
        raise MeasurementFailed(f"only {len(lines)} processes were seen")
    print(f"memory: {'flat' if flat else 'GROWING'} (the last third against the middle one, bound {MOST_GROWTH:.0%})\n")
    return flat and saved.stalest <= STALENESS


def memory(name: str, trace: Trace, began: float, ended: float) -> dict[str, Any]:
    times, held = np.array(trace.times), np.array(trace.memory) / 2**20

    def median(start: float, end: float) -> float:
        inside = held[(times >= began + start * (ended - began)) & (times <= began + end * (ended - began))]
        return float(np.median(inside)) if len(inside) else float("nan")

    line: dict[str, Any] = {"MB of": name}
    line |= {f"{(n + 1) * 100 // POINTS}%": median(n / POINTS, (n + 1) / POINTS) for n in range(POINTS)}
    return line | {"growth": median(2 / 3, 1) / median(1 / 3, 2 / 3) - 1}


def killed(folder: Path, kills: int, seed: int, options: Sequence[str]) -> bool:
    """Every third time at some moment of its start, else at some moment after a few steps."""
    rng = random.Random(seed)
    with trainer(folder, *options) as one:
        for number in range(kills):
            if number % 3 == 2:
                time.sleep(rng.uniform(0.5, 8))
            else:
                one.wait_for_steps(rng.randint(1, 4))
                time.sleep(rng.uniform(0, 1))
            one.kill()
            print(f"killed at step {one.steps()}", flush=True)
            one.start()
        one.wait_for_steps(5)
        one.stop()
    verdict, left = judge(folder), left_over()
    print(
        f"{kills} kills: {verdict.consumed} groups trained on, {verdict.dropped} dropped, missed {verdict.missed}, "
        f"repeated {verdict.repeated}, episodes committed twice {verdict.twice_committed}, stalest {verdict.stalest}"
    )
    print(f"hosts and workers still there after all of them: {len(left)} {left or ''}")
    return verdict.is_good and verdict.stalest <= STALENESS and not left


def left_over() -> list[str]:
    """What outlived its trainer by more than a while."""
    deadline = time.monotonic() + GONE_S
    while (found := alive()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def alive() -> list[str]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            title = " ".join(process.cmdline()[:1])
            if title.startswith(("ray::Host", "ray::Worker")):
                found.append(title)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    options = ["--staleness", str(STALENESS), "--delay-s", str(given.delay_s)]
    with tempfile.TemporaryDirectory(prefix="ray_gym_stream_") as scratch:
        try:
            with _cluster():
                good = True
                if given.seconds:
                    speed = production(Path(scratch) / "eager", given.production_s, options)
                    good = steady(Path(scratch) / "slow", given.seconds, speed, options)
                if given.kills:
                    good &= killed(Path(scratch) / "killed", given.kills, given.seed, options)
        except MeasurementFailed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    print("all as it should be" if good else "NOT as it should be")
    return 0 if good else 1


@contextmanager
def _cluster() -> Iterator[None]:
    """One that outlives its trainers, as a real one does."""
    before = dict(os.environ)
    os.environ.setdefault("RAY_worker_niceness", "0")
    context = ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=cluster.LOCAL_OBJECT_STORE_BYTES,
        log_to_driver=False,
        logging_level="ERROR",
    )
    os.environ["RAY_ADDRESS"] = context.address_info["gcs_address"]
    try:
        yield
    finally:
        ray.shutdown()
        os.environ.clear()
        os.environ.update(before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trainer_stream", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=300, help="of the trainer that eats half as fast; 0: leave it out"
    )
    parser.add_argument("--production-s", type=float, default=20, help="of the one that eats as fast as it can")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--delay-s", type=float, default=0.5, help="of each answer, on average")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    return parser


if __name__ == "__main__":
    sys.exit(main())
