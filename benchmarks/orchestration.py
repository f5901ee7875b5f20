"""Measures the cost of episodes apart from their models: `python -m benchmarks.orchestration`.

Two participants talk for five turns each. Their models answer at once or after a fixed time. The driver and the workers
of a run play the episodes on a Ray cluster of their own, and write a journal and full records with tokens to Parquet.
The model is a function in the workers' processes, the same function behind Ray Serve, or a double of an OpenAI server.
Cases without Serve are also played in one process without Ray, to show Ray's share.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from benchmarks.cases import CaseResult, Durability, Models, Workload, in_one_process, on_ray
from benchmarks.command import add_json, begin, check_in_flight, not_negative, positive
from benchmarks.lag import percentile_ms
from benchmarks.measure import Cost, Costs, MeasurementFailed, run_watched
from benchmarks.table import cell, table
from ray_gym.hosting.affinity import Transport

BRIEF = ("players", "model", "delay", "in flight", "journal", "calls/s", "CPU-ms a call", "p99", "busy elsewhere")
Case = Callable[[Workload], CaseResult]

LEGEND = """\
Seconds count from the first episode's start to the last commit (a worker that is still starting then is in them).
`start s` is the time before that, from the driver's start to the first episode's; starting Ray is in neither.
CPU-ms a call is the CPU time of driver, workers and replicas in these seconds. Ray's own processes (raylet, gcs, agents,
Serve's controller) and leases on applications are apart, and so is the double of an OpenAI server.
MB is the largest resident memory of driver, workers and replicas together at one moment.
`lag` is how much later than asked an event loop came back, in ms. `busy elsewhere` is the number of cores that other
programs kept busy meanwhile: where it is not near 0, only the CPU times say something."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Holds the workload, the counts and the costs of a case, which make one line of the table."""

    load: Workload
    played: CaseResult
    costs: Costs
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
        """Returns the case's numbers by the headings of the table. A number that the case does not have is None."""
        load, played, costs = self.load, self.played, self.costs
        calls, uses_ray, serves = played.model_calls, load.workers > 0, load.models == "serve"

        def cpu_ms(cost: Cost, there: bool = True) -> float | None:
            return 1000 * cost.cpu_s / calls if there else None

        return {
            "players": self.players,
            "model": load.models.replace("_", " "),
            "delay": load.delay_ms,
            "in flight": load.concurrency,
            "journal": load.durability if uses_ray else "none",
            "episodes": played.rows,
            "episodes/s": played.rows / self.seconds,
            "calls/s": calls / self.seconds,
            "CPU-ms a call": cpu_ms(costs.ours),
            "driver's": cpu_ms(costs.driver),
            "workers'": cpu_ms(costs.workers, uses_ray),
            "replicas'": cpu_ms(costs.replicas, serves),
            "Ray's own": cpu_ms(costs.others, uses_ray),
            "double's": cpu_ms(costs.double, played.double is not None),
            "MB": costs.ours.peak_bytes / 2**20,
            "driver MB": costs.driver.peak_bytes / 2**20,
            "worker lag p50": percentile_ms(played.lags.worker, 50),
            "p99": percentile_ms(played.lags.worker, 99),
            "driver lag p50": percentile_ms(played.lags.driver, 50),
            "driver p99": percentile_ms(played.lags.driver, 99),
            "replica p99": percentile_ms(played.lags.replica, 99),
            "seconds": self.seconds,
            "start s": played.began_at - played.asked_at if uses_ray else None,
            "busy elsewhere": self.cores_elsewhere,
        }

    def problem(self) -> str | None:
        """Returns a text that says which episodes, rows or tokens are missing in the files; None if nothing is.

        If something is missing, the numbers do not count.
        """
        played = self.played
        counts = {
            "rows in Parquet": played.rows,
            "episode ids": played.episode_ids,
            "episodes completed": played.completed,
            "episodes with the tokens of both": played.sampled,
        }
        for what, count in counts.items():
            if count != self.load.episodes:
                at = f"{self.players}, {self.load.models}, {self.load.concurrency} in flight"
                return f"{at}: {count} {what}, but {self.load.episodes} were asked for"
        return None


def measure(case: Case, load: Workload) -> Measured:
    """Plays a case in a process of its own, and returns its counts and costs.

    Errors: MeasurementFailed if the case raises or its process dies.
    """
    played, watch = run_watched(case, load)
    window = (played.began_at, played.ended_at)
    return Measured(load, played, watch.costs(*window, played.double), watch.cores_elsewhere(*window))


def cases(given: argparse.Namespace) -> Iterator[tuple[Case, Workload]]:
    for models, delay_ms, concurrency in itertools.product(given.models, given.delay_ms, given.concurrency):
        load = Workload(given.episodes, concurrency, models=models, delay_ms=delay_ms, replicas=given.replicas)
        load = replace(load, transport=given.transport)
        if models != "serve" and not given.only_ray:
            yield in_one_process, load
        for durability in given.durability:
            yield on_ray, replace(load, workers=given.workers, durability=durability)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given, heading = begin(parser, arguments)
    check_in_flight(parser, given, *given.concurrency)
    measured: list[Measured] = []
    problems: list[str] = []
    try:
        for case, load in cases(given):
            measured.append(measure(case, load))
            print(f"{len(measured)}: {_brief(measured[-1])}", flush=True)
    except MeasurementFailed as error:
        problems.append(str(error))
    print(f"\n{table([line.figures() for line in measured])}\n\n{LEGEND}")
    problems += [problem for line in measured if (problem := line.problem())]
    lines = [{**line.figures(), "measured": asdict(line)} for line in measured]
    heading.write(given.json, cases=lines, problems=problems)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _brief(measured: Measured) -> str:
    """Returns the main figures of a case as one line, which is printed before the table."""
    figures = measured.figures()
    return ", ".join(f"{name} {cell(figures[name])}" for name in BRIEF)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.orchestration", description=__doc__)
    episodes = "episodes a case; a case of less than a second says little (default 2000)"
    parser.add_argument("--episodes", type=positive, default=2000, help=episodes)
    in_flight = "episodes in flight, one case each (default 64 256)"
    parser.add_argument("--concurrency", type=positive, nargs="+", default=[64, 256], help=in_flight)
    models = "where the models are, one case each (default in_process)"
    parser.add_argument("--models", choices=get_args(Models), nargs="+", default=["in_process"], help=models)
    delay = "milliseconds before each answer of a model, one case each (default 0)"
    parser.add_argument("--delay-ms", type=not_negative, nargs="+", default=[0.0], help=delay)
    durability = "output.durability of the run on Ray, one case each (default process)"
    parser.add_argument("--durability", choices=get_args(Durability), nargs="+", default=["process"], help=durability)
    transport = "how calls reach a model behind Serve (default batched)"
    parser.add_argument("--transport", choices=get_args(Transport), default="batched", help=transport)
    parser.add_argument("--replicas", type=positive, default=1, help="replicas of a model behind Serve (default 1)")
    parser.add_argument("--only-ray", action="store_true", help="leave out the cases in one process")
    parser.add_argument("--workers", type=positive, default=2, help="worker processes on Ray (default 2)")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
