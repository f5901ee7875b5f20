"""What work costs as there is more of it: `python -m benchmarks.scale --axes episodes in_flight workers raylets`.

The conversations of `orchestration` on Ray, with the journal on. One axis at a time is varied, from a base that the others stay at:
episodes, episodes in flight, workers, raylets (several on this machine). CPU time a call and memory should not grow with them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from benchmarks import orchestration
from benchmarks.cases import Load, Models, on_ray
from benchmarks.command import add_json, begin, not_negative, positive
from benchmarks.measure import MeasurementFailed
from benchmarks.memory import growth, series
from benchmarks.orchestration import LEGEND, Measured, table

AXES: Mapping[str, tuple[int, ...]] = {
    "episodes": (1_000, 10_000, 100_000),
    "in_flight": (64, 256, 1024, 4096, 8192),
    "workers": (1, 2, 4, 8),
    "raylets": (1, 2, 4),
}
FIELDS = {"in_flight": "concurrency"}
"""Of `Load`, where it has another name."""
SHOWN = ("CPU-ms a call", "driver's", "workers'", "Ray's own", "MB", "driver MB", "worker lag p50", "p99", "driver p99")
REFERENCE = 10_000
"""Episodes that a larger number of them is compared with."""
MOST_COST = 0.10
"""More CPU time a call."""
MOST_GROWTH = 0.10
"""Of the driver's memory while it works, from a tenth of the episodes on."""
MOST_LAG_MS = 50.0
LAG_IN_FLIGHT = 1024
"""Up to so many in flight the bound on lag holds."""
POINTS = 20
"""At which memory is read."""


@dataclass(frozen=True, slots=True)
class Line:
    axis: str
    value: int
    measured: Measured
    driver_growth: float

    @property
    def cpu_ms(self) -> float:
        return float(self.measured.figures()["CPU-ms a call"])

    def figures(self) -> dict[str, Any]:
        figures = self.measured.figures()
        first = {"axis": self.axis.replace("_", " "), "value": self.value, "calls/s": figures["calls/s"]}
        grown = {"driver's growth (%)": 100 * self.driver_growth}
        last = {"seconds": figures["seconds"], "busy elsewhere": figures["busy elsewhere"]}
        return first | {name: figures[name] for name in SHOWN} | grown | last


def loads(axes: Sequence[str], values: Sequence[int] | None, base: Load) -> Iterator[tuple[str, int, Load]]:
    """`values` instead of each axis's own."""
    for axis in axes:
        for value in values or AXES[axis]:
            change: dict[str, Any] = {FIELDS.get(axis, axis): value}
            yield axis, value, replace(base, **change)


def measure(axis: str, value: int, load: Load) -> Line:
    """Errors: MeasurementFailed."""
    measured, watch = orchestration.measure(on_ray, load)
    memory = series(measured.played, watch, POINTS, load.episodes)
    return Line(axis, value, measured, growth(memory, "driver MB"))


def broken(lines: Sequence[Line]) -> list[str]:
    """Which bounds do not hold."""
    found = [problem for line in lines if (problem := line.measured.problem())]
    by_episodes = {line.value: line for line in lines if line.axis == "episodes"}
    reference, largest = by_episodes.get(REFERENCE), max(by_episodes, default=0)
    if reference is not None and largest > REFERENCE:
        ratio = by_episodes[largest].cpu_ms / reference.cpu_ms
        if ratio > 1 + MOST_COST:
            found.append(f"CPU-ms a call at {largest} episodes is {ratio:.2f} times that at {REFERENCE}")
    for line in lines:
        at = f"{line.axis} {line.value}"
        if line.value >= REFERENCE and line.axis == "episodes" and not line.driver_growth <= MOST_GROWTH:
            found.append(f"{at}: the driver's memory grew by {line.driver_growth:.0%}")
        lags = line.measured.played.lags
        for whose, lag in (("workers'", lags.worker_ms(99)), ("driver's", lags.driver_ms(99))):
            if line.measured.load.concurrency <= LAG_IN_FLIGHT and lag is not None and lag >= MOST_LAG_MS:
                found.append(f"{at}: p99 of the {whose} lag is {lag:.0f} ms")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given, heading = begin(parser, arguments)
    base = Load(given.episodes, given.concurrency, given.workers, models=given.models, delay_ms=given.delay_ms)
    cases = list(loads(given.axes, given.values, base))
    for axis, value, load in cases:
        if load.episodes < load.concurrency:
            parser.error(f"{axis} {value}: {load.concurrency} of {load.episodes} episodes can't be in flight")
        if load.concurrency < load.workers:
            parser.error(f"{axis} {value}: {load.workers} workers can't share {load.concurrency} episodes in flight")
    lines: list[Line] = []
    problems: list[str] = []
    try:
        for case in cases:
            lines.append(measure(*case))
            shown = lines[-1].figures()
            print(f"{shown['axis']} {shown['value']}: {shown['CPU-ms a call']:.3f} CPU-ms a call", flush=True)
    except MeasurementFailed as error:
        problems.append(str(error))
    print(f"\n{table([line.figures() for line in lines])}\n\n{LEGEND}")
    problems += broken(lines)
    heading.write(given.json, lines=[line.figures() for line in lines], problems=problems)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--axes", choices=AXES, nargs="+", default=list(AXES), help="what is varied (default: all)")
    parser.add_argument("--values", type=positive, nargs="+", help="of the axis, instead of its own")
    parser.add_argument("--episodes", type=positive, default=10_000, help="of the base (default 10000)")
    parser.add_argument("--concurrency", type=positive, default=256, help="of the base (default 256)")
    parser.add_argument("--workers", type=positive, default=2, help="of the base (default 2)")
    parser.add_argument("--models", choices=get_args(Models), default="in_process", help="(default in_process)")
    parser.add_argument("--delay-ms", type=not_negative, default=0, help="before each answer of a model (default 0)")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
