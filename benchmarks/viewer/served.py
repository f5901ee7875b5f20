"""Serves runs by `ray-gym view`, and asks it as its page does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.measure import MeasurementFailed

QUERIES = (
    "episodes?sort=-reward",
    "episodes?sort=task_id",
    "episodes?f=status%3Dfailed",
    "episodes?f=failure~shelf%2099&sort=task_id",
    "episodes?where=reward%3E0.9%20and%20turns%3C3&sort=-generated_tokens",
    "episodes?offset=99000",
    "groups?sort=spread",
    "groups?f=reward%3C0.1",
    "values/stop_reason",
    "versions",
)
"""Filters and sorts that are asked."""
READ_WITHIN_S = 120.0
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Holds a viewer that is up."""

    address: str
    pid: int

    def peak_bytes(self) -> int:
        """Returns the most memory that the server has had until now."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@dataclass(frozen=True, slots=True)
class Searched:
    """Tells how a search went."""

    first_s: float
    """Seconds until 50 hits were there; until the end if there are fewer."""
    whole_s: float
    count: int
    """Number of all hits."""


@contextmanager
def viewing(*locations: Path) -> Iterator[Viewer]:
    """Serves runs on a free port while the block runs. Errors: MeasurementFailed if it does not come up."""
    command = [sys.executable, "-m", "ray_gym", "view", *map(str, locations), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = _ADDRESS.search(line)
            if found is None:
                raise MeasurementFailed(line + process.stdout.read())
            yield Viewer(found[0], process.pid)
        finally:
            process.terminate()


def wait_until_read(client: httpx.Client) -> None:
    """Waits until a run's index is whole. Errors: MeasurementFailed after `READ_WITHIN_S` seconds."""
    ends = time.monotonic() + READ_WITHIN_S
    run = str(client.base_url).rstrip("/")
    while client.get(run).json()["waiting"]:
        if time.monotonic() > ends:
            raise MeasurementFailed(f"the run was not read within {READ_WITHIN_S:g} s")
        time.sleep(0.05)


def seconds_of_queries(client: httpx.Client, rounds: int, queries: Sequence[str] = QUERIES) -> list[float]:
    """Returns how long each filter and sort took, in seconds."""
    took = []
    for query in [*queries] * rounds:
        began = time.monotonic()
        client.get(query).raise_for_status()
        took.append(time.monotonic() - began)
    return took


def searched(client: httpx.Client, text: str) -> Searched:
    """Searches a run for a text, to the end."""
    began, hits, first_s, last = time.monotonic(), 0, 0.0, {"count": 0}
    with client.stream("GET", "search", params={"most": 50, "text": text}) as answer:
        for line in answer.iter_lines():
            last = json.loads(line)
            hits += len(last["hits"])
            first_s = first_s or (time.monotonic() - began if hits >= 50 else 0.0)
    whole_s = time.monotonic() - began
    return Searched(first_s or whole_s, whole_s, last["count"])
