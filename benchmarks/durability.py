"""What the journal costs: `python -m benchmarks.durability`.

The conversations of `orchestration`, whose models answer at once, so that nothing hides the cost: played with the journal off, with
`process` and with `disk` durability, one after the other, several times over. With real models the share is far smaller.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from benchmarks.cases import Durability, Load, on_ray
from benchmarks.command import begin, positive
from benchmarks.measure import MeasurementFailed
from benchmarks.orchestration import Measured, measure, table

MOST_LOST = 0.15
"""Of the episodes/s, by `process`."""
KINDS: tuple[Durability, ...] = get_args(Durability)


@dataclass(frozen=True, slots=True)
class Round:
    """The same episodes under every durability, one after the other."""

    measured: dict[Durability, Measured]

    def speed(self, kind: Durability) -> float:
        one = self.measured[kind]
        return one.played.rows / one.seconds

    def cpu_ms(self, kind: Durability) -> float:
        one = self.measured[kind]
        return 1000 * one.costs.ours.cpu_s / one.played.model_calls

    def ratio(self, kind: Durability) -> float:
        return self.speed(kind) / self.speed("off")


def play_round(episodes: int, concurrency: int, workers: int, kinds: Sequence[Durability]) -> Round:
    """Errors: MeasurementFailed."""
    measured = {kind: measure(on_ray, Load(episodes, concurrency, workers, kind)) for kind in kinds}
    for one in measured.values():
        if problem := one.problem():
            raise MeasurementFailed(problem)
    return Round(measured)


def lines(rounds: Sequence[Round]) -> list[dict[str, object]]:
    """A line a durability: medians over the rounds, ratios within one round."""
    return [
        {
            "durability": kind,
            "episodes/s": statistics.median(one.speed(kind) for one in rounds),
            "of off": statistics.median(one.ratio(kind) for one in rounds),
            "lowest": min(one.ratio(kind) for one in rounds),
            "highest": max(one.ratio(kind) for one in rounds),
            "CPU-ms a call": statistics.median(one.cpu_ms(kind) for one in rounds),
            "busy elsewhere": max(one.measured[kind].cores_elsewhere for one in rounds),
        }
        for kind in KINDS
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    rounds = []
    try:
        for number in range(given.rounds):
            kinds = KINDS[number % 3 :] + KINDS[: number % 3]  # none has always the same neighbours
            rounds.append(play_round(given.episodes, given.concurrency, given.workers, kinds))
    except MeasurementFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(table(lines(rounds)))
    lost = 1 - statistics.median(one.ratio("process") for one in rounds)
    print(f"\nprocess: {lost:.1%} fewer episodes/s than with the journal off (bound {MOST_LOST:.0%})")
    return 0 if lost <= MOST_LOST else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability", description=__doc__)
    parser.add_argument("--episodes", type=positive, default=5000, help="a case (default 5000)")
    parser.add_argument("--concurrency", type=positive, default=64, help="episodes in flight (default 64)")
    parser.add_argument("--workers", type=positive, default=2, help="worker processes (default 2)")
    parser.add_argument("--rounds", type=positive, default=3, help="times that all three are played (default 3)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
