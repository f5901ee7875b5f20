"""Watches the resident memory of the service's processes under load."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]

from benchmarks.service_load.service import ServiceProcess

LOOK_EVERY_S = 0.5


@dataclass(slots=True)
class Series:
    """Holds the resident memory of one process: `bytes[i]` at `times[i]`, in seconds since the load began.

    `kind` is the kind of the process (`service.KINDS`).
    """

    kind: str
    times: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)

    def median_mb(self, start: float, end: float) -> float | None:
        """Returns the median of the resident memory between two times, in units of 2**20 bytes.

        None means that the process was missing for more than 2 s at the start or the end of that time.
        """
        if not self.times or self.times[0] > start + 2 or self.times[-1] < end - 2:
            return None
        held = [size for at, size in zip(self.times, self.bytes, strict=True) if start <= at <= end]
        return float(np.median(held)) / 2**20 if held else None


async def watch(service: ServiceProcess, seen: dict[int, Series], stop: asyncio.Event) -> None:
    """Adds the memory of each of the service's processes to `seen`, by process id, until `stop` is set."""
    began = time.monotonic()
    while not stop.is_set():
        await asyncio.to_thread(_look, service, seen, began)
        await asyncio.sleep(LOOK_EVERY_S)


def _look(service: ServiceProcess, seen: dict[int, Series], began: float) -> None:
    for pid, kind in service.processes().items():
        try:
            size = psutil.Process(pid).memory_info().rss
        except psutil.Error:
            continue
        series = seen.setdefault(pid, Series(kind))
        series.times.append(time.monotonic() - began)
        series.bytes.append(size)


def lines(seen: dict[int, Series], seconds: float, points: int = 12) -> list[dict[str, Any]]:
    """Returns a line of the table for each process: the median memory (2**20 bytes) of `points` intervals, and the
    growth.

    `seconds`: length of the load.
    """
    step = seconds / points
    return [
        {"process": one.kind}
        | {f"{(n + 1) * step:.0f} s": one.median_mb(n * step, (n + 1) * step) for n in range(points)}
        | {"growth": None if (grown := growth(one, seconds)) is None else f"{grown:+.1%}"}
        for one in seen.values()
    ]


def growth(one: Series, seconds: float) -> float | None:
    """Returns the share by which the median memory grew from the middle third of the load to the last third.

    `seconds`: length of the load. None means that the process did not live through both.
    """
    middle, last = one.median_mb(seconds / 3, seconds * 2 / 3), one.median_mb(seconds * 2 / 3, seconds)
    return None if middle is None or last is None else last / middle - 1
