"""Measures what `docs/viewer.md` promises: `python -m benchmarks.viewer`.

A run of 100,000 made episodes is opened, filtered, sorted and searched, a sample of 100,000 tokens is scrolled in
headless Chromium, and a run is played without and with a viewer and a browser on it, in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from benchmarks.command import add_json, begin, positive
from benchmarks.measure import MeasurementFailed
from benchmarks.table import table
from benchmarks.viewer.browsed import frames_a_second, seconds_of_run, seconds_while_seen
from benchmarks.viewer.large_run import EVENTS, NEEDLE, write_large_run, write_long_sample
from benchmarks.viewer.served import Viewer, searched, seconds_of_queries, viewing, wait_until_read

LIVE = ("tic_tac_toe_scripted", "tasks.generate=7500")
"""Run that is played while it is seen: 30,000 games without a model, which keep both cores busy by themselves."""
TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Measured:
    """Holds a figure, and its bound."""

    what: str
    value: float
    bound: float
    is_least: bool = False
    """True if the figure has to be at least the bound."""
    details: str = ""

    def holds(self) -> bool:
        """Says whether the figure is within its bound."""
        return self.value >= self.bound if self.is_least else self.value <= self.bound


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints a table, and returns 1 if a bound is broken or something could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=__doc__)
    parser.add_argument("--episodes", type=positive, default=100_000, help="of the run that is opened")
    parser.add_argument("--rounds", type=positive, default=3, help="runs that are played without and with a viewer")
    parser.add_argument("--live", nargs="+", default=LIVE, metavar="WORD", help="config and overrides of these runs")
    parser.add_argument("--no-browser", action="store_true", help="measure the server alone")
    add_json(parser)
    given, heading = begin(parser, arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = list(_measure(Path(folder), given))
    except MeasurementFailed as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 1
    lines = [
        {"figure": one.what, "value": one.value, "bound": one.bound, "holds": str(one.holds()), "": one.details}
        for one in found
    ]
    print(table(lines))
    heading.write(given.json, figures=lines)
    return 0 if all(one.holds() for one in found) else 1


def _measure(folder: Path, given: argparse.Namespace) -> Iterator[Measured]:
    run = folder / "runs" / "large"
    write_large_run(run, given.episodes)
    os.sync()  # else the viewer reads while the disk still writes
    print(f"{given.episodes:,} episodes with {EVENTS * given.episodes:,} events are written", flush=True)
    began = time.monotonic()
    with viewing(run) as viewer:
        yield from _of_server(viewer, began, run.name)
    if given.no_browser:
        return
    long = folder / "runs" / "long"
    write_long_sample(long, TOKENS)
    yield Measured(f"frames a second over {TOKENS:,} tokens", frames_a_second(long), 30, is_least=True)
    yield _of_live_run(folder / "live", given.rounds, given.live)


def _of_server(viewer: Viewer, began: float, run: str) -> Iterator[Measured]:
    """Yields the figures of a finished run. `began`: time at which the viewer was started."""
    with httpx.Client(base_url=f"{viewer.address}/api/runs/{run}/", timeout=60) as client:
        client.get("episodes?limit=100").raise_for_status()
        yield Measured("first page (s)", time.monotonic() - began, 2)
        wait_until_read(client)
        yield Measured("whole index (s)", time.monotonic() - began, 60)
        took = seconds_of_queries(client, rounds=5)
        late = float(np.percentile(took, 95))
        yield Measured("filter or sort, 95th percentile (s)", late, 1, details=f"median {np.median(took):.3f}")
        for text in (NEEDLE, "coffee", "nowhere"):
            found = searched(client, text)
            if found.count >= 50:
                yield Measured(f"first 50 hits of {text!r} (s)", found.first_s, 1)
            yield Measured(f"count of {text!r} (s)", found.whole_s, 5, details=f"{found.count:,} hits")
        yield Measured("most memory (MB)", viewer.peak_bytes() / 1e6, 500)


def _of_live_run(folder: Path, rounds: int, options: Sequence[str]) -> Measured:
    """Plays a run without and with a viewer in turns, after a first one that does not count, and returns the share of
    time that the viewer costs.
    """
    seconds_of_run(folder, "warm", *options)
    alone, seen = list[float](), list[float]()
    for number in range(rounds):
        alone.append(seconds_of_run(folder, f"alone{number}", *options))
        seen.append(seconds_while_seen(folder, f"seen{number}", *options))
    cost = statistics.mean(seen) / statistics.mean(alone) - 1
    told = f"alone {', '.join(f'{one:.1f}' for one in alone)} s; seen {', '.join(f'{one:.1f}' for one in seen)} s"
    return Measured("share of time that a live run takes longer", cost, 0.05, details=told)


if __name__ == "__main__":
    sys.exit(main())
