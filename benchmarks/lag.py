"""Writes the lag of event loops to files, beside the metrics that a run exports to Ray.

The driver and the workers of any run measure the lag of their loops ten times a second. Replicas do so in benchmarks
only, in which an environment variable (`LAGS`) names the folder of the files.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ray_gym.metrics.pulse import LOOK_S, Export, Pulse
from ray_gym.metrics.ray_export import RayExport
from ray_gym.metrics.recorder import Reading, Recorder
from ray_gym.metrics.table import LOOP_LAG

LAGS = "BENCHMARK_LAGS"
"""Name of the environment variable with the folder that a replica writes its file to."""
ROLES = ("worker", "driver", "replica")


@dataclass(frozen=True, slots=True)
class Lags:
    """Holds the lags of the event loops of workers, driver and replicas, in seconds, measured at regular intervals."""

    worker: tuple[float, ...] = ()
    driver: tuple[float, ...] = ()
    replica: tuple[float, ...] = ()


def percentile_ms(lags: tuple[float, ...], percent: float) -> float | None:
    """Returns a percentile, in milliseconds, of lags in seconds; None if there are no lags."""
    return 1000 * float(np.percentile(lags, percent)) if lags else None


class LagFile:
    """Passes metrics on to the export `further` (None: to none), and appends the lag of the event loop to the file
    `PID.jsonl` of this process in `folder`.
    """

    def __init__(self, folder: Path, further: Export | None) -> None:
        self._further = further
        self._file = (folder / f"{os.getpid()}.jsonl").open("a", buffering=1)

    def __call__(self, readings: Sequence[Reading]) -> None:
        if self._further is not None:
            self._further(readings)
        for reading in readings:
            if reading.metric == LOOP_LAG:
                self._file.write(json.dumps([time.time(), reading.labels[0], reading.values]) + "\n")


def export_beside_ray(folder: Path) -> LagFile:
    """Makes an export of metrics to Ray that also writes lags to `folder`."""
    return LagFile(folder, RayExport())


def watch_replica() -> Pulse | None:
    """Begins to measure the lag of a replica's event loop, which is running. Returns the object that measures it; None
    if the environment variable LAGS is not set.
    """
    if (folder := os.environ.get(LAGS)) is None:
        return None
    pulse = Pulse(Recorder(), "replica", LagFile(Path(folder), None))
    pulse.start()
    return pulse


def lags_between(folder: Path, start: float, end: float) -> Lags:
    """Reads the lags that were measured from `start` to `end` (seconds of `time.time()`), even if they were written
    later.

    A process writes its lags in batches, each right after the batch's last one was measured.
    """
    found: dict[str, list[float]] = {role: [] for role in ROLES}
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            at, role, values = json.loads(line)
            at -= values[-1] if values else 0
            for value in reversed(values):
                if start <= at <= end:
                    found[role].append(value)
                at -= LOOK_S
    return Lags(*(tuple(found[role]) for role in ROLES))
