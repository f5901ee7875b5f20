"""How fast episodes are played when models answer at once: `python -m benchmarks.orchestration`.

Two participants, five turns each, scripted in the workers' own processes, through the real driver on a Ray cluster of
its own, with full records written to Parquet; and the same in one process without Ray, so that Ray's share shows.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Load, Played, in_one_process, on_ray
from benchmarks.measure import Cost, MeasurementFailed, machine, watched

LEGEND = """\
Seconds count from the first episode's start to the last commit (a worker that is still starting then is in them).
Before that comes `start s`, from the driver's start to the first episode's; starting Ray is in neither.
CPU-ms a call is that of our driver and workers in these seconds; Ray's own processes (raylet, gcs, agents) are apart.
MB is the most resident memory at one moment, of all workers together. `busy elsewhere` is how many cores other programs
kept busy meanwhile: with much of it, only the CPU times say something."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table."""

    load: Load
    played: Played
    driver: Cost
    workers: Cost
    others: Cost
    cores_elsewhere: float

    @property
    def seconds(self) -> float:
        return self.played.ended_at - self.played.began_at

    @property
    def players(self) -> str:
        if not self.load.workers:
            return "one process, no Ray"
        return f"Ray, {self.load.workers} worker{'s' if self.load.workers > 1 else ''}"

    def figures(self) -> dict[str, Any]:
        """By the table's headings, as numbers; None where there is nothing to measure."""
        calls, uses_ray = self.played.model_calls, self.load.workers > 0
        ours = self.driver.cpu_s + self.workers.cpu_s
        return {
            "players": self.players,
            "in flight": self.load.concurrency,
            "episodes": self.played.rows,
            "episodes/s": self.played.rows / self.seconds,
            "calls/s": calls / self.seconds,
            "CPU-ms a call": 1000 * ours / calls,
            "driver's": 1000 * self.driver.cpu_s / calls,
            "workers'": 1000 * self.workers.cpu_s / calls if uses_ray else None,
            "Ray's own": 1000 * self.others.cpu_s / calls if uses_ray else None,
            "driver MB": self.driver.peak_bytes / 2**20,
            "workers MB": self.workers.peak_bytes / 2**20 if uses_ray else None,
            "seconds": self.seconds,
            "start s": self.played.began_at - self.played.asked_at if uses_ray else None,
            "busy elsewhere": self.cores_elsewhere,
        }

    def problem(self) -> str | None:
        """Why the numbers do not count."""
        played = self.played
        counts = {
            "rows in Parquet": played.rows,
            "episode ids": played.episode_ids,
            "episodes completed": played.completed,
        }
        for what, count in counts.items():
            if count != self.load.episodes:
                at = f"{self.players}, {self.load.concurrency} in flight"
                return f"{at}: {count} {what}, but {self.load.episodes} were asked for"
        return None


def measure(case: Callable[[Load], Played], load: Load) -> Measured:
    """Errors: MeasurementFailed."""
    played, watch = watched(case, load)
    window = (played.began_at, played.ended_at)
    costs = (watch.driver(*window), watch.workers(*window), watch.others(*window))
    return Measured(load, played, *costs, watch.cores_elsewhere(*window))


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Lines with the same keys as a Markdown table; numbers to the right, with as many digits as they deserve."""
    if not lines:
        return ""
    headings = list(lines[0])
    cells = [headings, *([_cell(line[heading]) for heading in headings] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [not isinstance(lines[0][heading], str) for heading in headings]
    rule = ["-" * (width - 1) + ":" if is_right else "-" * width for width, is_right in zip(widths, right, strict=True)]
    return "\n".join(_line(row, widths, right) for row in [headings, rule, *cells[1:]])


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = [c.rjust(w) if is_right else c.ljust(w) for c, w, is_right in zip(cells, widths, right, strict=True)]
    return f"| {' | '.join(placed)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    words = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "-m", "benchmarks.orchestration", *words])
    here = machine()
    print(f"machine: {', '.join(f'{name} {value}' for name, value in here.items())}\ncommand: {command}\n", flush=True)
    measured: list[Measured] = []
    try:
        for concurrency in given.concurrency:
            measured.append(measure(in_one_process, Load(given.episodes, concurrency)))
            measured.append(measure(on_ray, Load(given.episodes, concurrency, given.workers)))
    except MeasurementFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{table([line.figures() for line in measured])}\n\n{LEGEND}")
    problems = [problem for line in measured if (problem := line.problem())]
    if given.json is not None:
        cases = [{**line.figures(), "measured": asdict(line)} for line in measured]
        report = {"machine": here, "command": command, "cases": cases, "problems": problems}
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.orchestration", description=__doc__)
    parser.add_argument(
        "--episodes",
        type=_positive,
        default=2000,
        help="a case; a second of play is the least that says much (default 2000)",
    )
    in_flight = "episodes in flight, one case each (default 64 256)"
    parser.add_argument("--concurrency", type=_positive, nargs="+", default=[64, 256], help=in_flight)
    parser.add_argument("--workers", type=_positive, default=2, help="worker processes on Ray (default 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
