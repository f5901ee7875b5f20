"""Whether memory grows with the episodes done: `python -m benchmarks.memory`.

The conversations of `orchestration` on Ray, with the journal on. Resident memory of the driver and of each worker, looked at four times a
second from outside, is read off as episodes are done.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.cases import Load, Played, on_ray
from benchmarks.command import begin, positive
from benchmarks.measure import MeasurementFailed, Trace, Watch, watched
from benchmarks.orchestration import table

MOST_GROWTH = 0.10
EARLY = 0.1
"""Of the episodes: by then everything is imported and every buffer has been full."""


def memory_at(trace: Trace, moment: float, window_s: float) -> float:
    """The median over a while around the moment, in bytes: rows that wait for their file come and go. Without a look then: the nearest."""
    looks = [(abs(at - moment), size) for at, size in zip(trace.times, trace.memory, strict=True) if size]
    near = [size for off, size in looks if off <= window_s] or [size for _, size in sorted(looks)[:1]]
    return float(np.median(near)) if near else float("nan")


def series(played: Played, watch: Watch, points: int, total: int) -> list[dict[str, Any]]:
    """A line a stretch of episodes: the driver's memory and each worker's, in MB."""
    times, done = zip(*played.progress, strict=True)
    traces = {"driver MB": next(trace for process, trace in watch.traces.items() if process.pid == watch.pid)}
    workers = [trace for trace in watch.traces.values() if any("ray::Worker" in title for title in trace.titles)]
    traces |= {f"worker {number} MB": trace for number, trace in enumerate(workers)}
    window_s = (played.ended_at - played.began_at) / points / 2
    lines = []
    for point in range(1, points + 1):
        episodes = total * point // points
        moment = float(np.interp(episodes, done, times)) - window_s
        lines.append(
            {"episodes": episodes}
            | {name: memory_at(trace, moment, window_s) / 2**20 for name, trace in traces.items()}
        )
    return lines


def growth(lines: Sequence[dict[str, Any]], name: str) -> float:
    """From the early point to the last."""
    early = lines[max(0, round(len(lines) * EARLY) - 1)]
    return float(lines[-1][name] / early[name] - 1)


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    load = Load(given.episodes, given.concurrency, given.workers, roll_rows=250)
    try:
        played, watch = watched(on_ray, load)
    except MeasurementFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    lines = series(played, watch, points=20, total=given.episodes)
    print(table(lines))
    grown = {name: growth(lines, name) for name in lines[0] if name != "episodes"}
    early = int(given.episodes * EARLY)
    for name, share in grown.items():
        print(
            f"{name.removesuffix(' MB')}: {share:+.1%} from {early} to {given.episodes} episodes (bound {MOST_GROWTH:.0%})"
        )
    whole = played.rows == played.episode_ids == played.completed == given.episodes
    if not whole:
        print(f"error: {played.rows} rows, {played.completed} completed", file=sys.stderr)
    return 0 if whole and all(share <= MOST_GROWTH for share in grown.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--episodes", type=positive, default=20_000)
    parser.add_argument("--concurrency", type=positive, default=64)
    parser.add_argument("--workers", type=positive, default=2)
    return parser


if __name__ == "__main__":
    sys.exit(main())
