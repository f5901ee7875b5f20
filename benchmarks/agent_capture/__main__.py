"""Compares what it costs to capture the calls of black-box agents: by a worker's door, by verifiers, and by NeMo Gym.

The same clients talk to the same double of a model server through each of them, in turns. A way's host is the process
that captures: the double and the clients are others.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.agent_capture.client import CALLS
from benchmarks.command import add_json, begin, positive
from benchmarks.measure import MeasurementFailed
from benchmarks.openai_double import start_double
from benchmarks.table import table
from ray_gym.installed.cache import cache_dir

HOSTS = Path(__file__).parent / "hosts"
OURS, SANDBOX, VERIFIERS, NEMO_GYM = "ray_gym", "ray_gym, from a sandbox", "verifiers", "NeMo Gym"
TIMES = 5.0
"""Least number of times that our calls a second are those of the faster of the two others, as is claimed."""


@dataclass(frozen=True, slots=True)
class Way:
    """Names a way to capture calls, and the command of its host, of which `URL` and `COUNT` are the double and the
    number of conversations.
    """

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """Holds the figures of one way in one round."""

    way: str
    calls_per_s: float
    cpu_ms: float
    """CPU milliseconds of the host a call."""
    p50_ms: float
    """Median of a call's milliseconds."""


def ways(verifiers: Path, nemo_gym: Path) -> list[Way]:
    """Returns the ways. `verifiers`, `nemo_gym`: Pythons that have these packages. Errors: MeasurementFailed that says how
    to get one that is missing.
    """
    for python, target in ((verifiers, "verifiers"), (nemo_gym, "nemo-gym")):
        if not python.is_file():
            raise MeasurementFailed(f"there is no {python}: make {target}")
    ours = (sys.executable, "-m", "benchmarks.agent_capture.ours", "URL", "COUNT")
    return [
        Way(OURS, (*ours, "socket")),
        Way(SANDBOX, (*ours, "sandbox")),
        Way(VERIFIERS, (str(verifiers), str(HOSTS / "of_verifiers.py"), "URL", "COUNT")),
        Way(NEMO_GYM, (str(nemo_gym), str(HOSTS / "of_nemo_gym.py"), "URL", "COUNT")),
    ]


@dataclass(frozen=True, slots=True)
class Host:
    """Holds a host that is up."""

    process: subprocess.Popen[str]
    places: list[list[str]]

    def end(self) -> int:
        """Ends it, and returns the number of calls that it has captured."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        return int(json.loads(self.process.stdout.readline() or "{}").get("calls", 0))


@contextmanager
def start_host(way: Way, url: str, count: int) -> Iterator[Host]:
    """Starts the host of a way for the block. Errors: MeasurementFailed if it does not come up."""
    command = [{"URL": url, "COUNT": str(count)}.get(word, word) for word in way.command]
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **streams) as process:
        try:
            assert process.stdout is not None
            if not (line := process.stdout.readline()):
                raise MeasurementFailed(f"{way.name}: its host did not come up: {' '.join(command)}")
            yield Host(process, json.loads(line))
        finally:
            process.terminate()


def measure(way: Way, conversations: int, at_once: int) -> Round:
    """Has the conversations by one way. Errors: MeasurementFailed if a call failed, or was not captured."""
    with start_double(0) as double, start_host(way, double.base_url, conversations) as host:
        asked = json.dumps({"places": host.places, "at_once": at_once, "host": host.process.pid})
        client = [sys.executable, "-m", "benchmarks.agent_capture.client"]
        done = subprocess.run(client, input=asked, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeasurementFailed(f"{way.name}: the clients failed: {done.stderr[-1000:]}")
        told: Mapping[str, Any] = json.loads(done.stdout)
        captured = host.end()
    if told["errors"] or not told["calls"] == captured == conversations * CALLS:
        raise MeasurementFailed(f"{way.name}: {told['calls']} calls, {captured} captured: {told['errors']}")
    calls: int = told["calls"]
    return Round(way.name, calls / told["seconds"], told["host_cpu_s"] / calls * 1000, told["p50_s"] * 1000)


def summary(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """Returns a line for each way: medians, and the least and the largest of the calls a second."""
    lines = []
    for name in dict.fromkeys(one.way for one in rounds):
        mine = [one for one in rounds if one.way == name]
        speeds = sorted(one.calls_per_s for one in mine)
        lines.append(
            {
                "captured by": name,
                "calls/s": statistics.median(speeds),
                "from": speeds[0],
                "to": speeds[-1],
                "CPU-ms a call": statistics.median(one.cpu_ms for one in mine),
                "p50 (ms)": statistics.median(one.p50_ms for one in mine),
            }
        )
    return lines


def ratios(rounds: Sequence[Round]) -> dict[str, list[float]]:
    """Returns, for each round, how many times the faster of the two others ours is: by calls a second, and by CPU time."""
    found: dict[str, list[float]] = {"calls/s": [], "CPU time": []}
    by = {name: [one for one in rounds if one.way == name] for name in (OURS, VERIFIERS, NEMO_GYM)}
    for ours, one, other in zip(by[OURS], by[VERIFIERS], by[NEMO_GYM], strict=True):
        found["calls/s"].append(ours.calls_per_s / max(one.calls_per_s, other.calls_per_s))
        found["CPU time"].append(min(one.cpu_ms, other.cpu_ms) / ours.cpu_ms)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints the figures, and returns 1 if ours is not `TIMES` as fast as the faster of the two."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent_capture", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=3, help="rounds, in each of which all ways have their turn")
    parser.add_argument("--conversations", type=positive, default=200, help=f"of {CALLS} calls each (default 200)")
    parser.add_argument("--at-once", type=positive, default=32, help="conversations at once (default 32)")
    add_json(parser)
    given, heading = begin(parser, arguments)
    bin_python = Path("bin", "python")
    verifiers = Path(os.environ.get("RAY_GYM_VERIFIERS_PYTHON") or cache_dir() / "verifiers" / bin_python)
    nemo_gym = Path(os.environ.get("RAY_GYM_NEMO_PYTHON") or cache_dir() / "nemo-gym" / bin_python)
    try:
        rounds = []
        for number in range(given.rounds):
            for way in ways(verifiers, nemo_gym):
                rounds.append(one := measure(way, given.conversations, given.at_once))
                print(f"round {number}: {way.name}: {one.calls_per_s:.0f} calls/s, {one.cpu_ms:.2f} CPU-ms", flush=True)
    except MeasurementFailed as error:
        print(error, file=sys.stderr)
        return 1
    found = ratios(rounds)
    print(f"\n{table(summary(rounds))}\n")
    for name, values in found.items():
        print(
            f"{name}: {statistics.median(values):.1f} times the faster of the two ({min(values):.1f} to {max(values):.1f})"
        )
    heading.write(given.json, rounds=summary(rounds), ratios=found)
    return 0 if statistics.median(found["calls/s"]) >= TIMES else 1


if __name__ == "__main__":
    sys.exit(main())
