"""How late event loops are, as a run itself looks at them ten times a second: kept in files, beside what a run tells Ray.

A run looks at its driver's and its workers'; replicas look at theirs here only, where their environment names a folder.
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
"""Where a replica finds the folder of these files: in its environment."""
ROLES = ("worker", "driver", "replica")


@dataclass(frozen=True, slots=True)
class Lags:
    """Seconds, at evenly spread moments."""

    worker: tuple[float, ...] = ()
    driver: tuple[float, ...] = ()
    replica: tuple[float, ...] = ()

    def worker_ms(self, percent: float) -> float | None:
        return _percentile_ms(self.worker, percent)

    def driver_ms(self, percent: float) -> float | None:
        return _percentile_ms(self.driver, percent)

    def replica_ms(self, percent: float) -> float | None:
        return _percentile_ms(self.replica, percent)


class LagFile:
    """Hands metrics on, and appends what they say of the loop to a file of this process."""

    def __init__(self, folder: Path, further: Export | None) -> None:
        self._further = further
        self._file = (folder / f"{os.getpid()}.jsonl").open("a", buffering=1)

    def __call__(self, readings: Sequence[Reading]) -> None:
        if self._further is not None:
            self._further(readings)
        for reading in readings:
            if reading.metric == LOOP_LAG:
                self._file.write(json.dumps([time.time(), reading.labels[0], reading.values]) + "\n")


def beside_ray(folder: Path) -> LagFile:
    return LagFile(folder, RayExport())


def watched_replica() -> Pulse | None:
    """Called on the event loop of a replica, which is looked at from now on, as long as it lives."""
    if (folder := os.environ.get(LAGS)) is None:
        return None
    pulse = Pulse(Recorder(), "replica", LagFile(Path(folder), None))
    pulse.start()
    return pulse


def lags_between(folder: Path, start: float, end: float) -> Lags:
    """Those of the looks that were due meanwhile: some are handed on only after the end, the last as soon as it was taken."""
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


def _percentile_ms(values: tuple[float, ...], percent: float) -> float | None:
    return 1000 * float(np.percentile(values, percent)) if values else None
