"""How unevenly the hash ring loads replicas, and what a bound on a replica's calls costs: `python -m benchmarks.routing`.

A simulation with the ring of the installed Ray Serve. Episodes of equal turns are in flight, and a new one begins where one ends. A call
goes to the replica of its episode, or on to the next of the ring whose calls are below the bound. A replica shares its speed among
its calls, as an engine that batches; what its cache doesn't have of a history it computes first, ten times as fast. Caches forget nothing.
"""

from __future__ import annotations

import argparse
import heapq
import logging
import math
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from ray.serve._private.common import DeploymentID, ReplicaID
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

from benchmarks.command import add_json, begin, positive
from benchmarks.orchestration import table

SPEEDS = {1: 61, 8: 278, 32: 450, 64: 520}
"""Tokens a second of the small model on two cores, by the calls that it has at once."""
PREFILL = 10
"""How much faster a token of a prompt is computed than one is generated."""
FIRST, NEW, GENERATED = 400, 60, 48
"""Tokens: the first prompt, what a turn adds to it, what it generates."""
CASES = ((2, 64), (4, 128), (4, 512), (16, 1024))
FACTORS = (1.0, 1.15, 1.25, 1.5, 2.0, math.inf)


class Ring(ConsistentHashRouter):  # type: ignore[misc]
    """Only the ring of it: replicas are numbers here."""

    def __init__(self, replicas: int, seed: int) -> None:
        self._deployment_id = DeploymentID("model", "simulated")
        self._num_virtual_nodes = 100
        self._num_fallback_replicas = replicas - 1
        ids = [
            ReplicaID(f"{random.Random(f'{seed}/{number}').getrandbits(40):x}", self._deployment_id)
            for number in range(replicas)
        ]
        self._numbers = {replica: number for number, replica in enumerate(ids)}
        self._rebuild_ring(frozenset(ids))

    def ranked(self, key: str) -> list[int]:
        return [self._numbers[replica] for replica in self._lookup_ranked_replicas(key)]


@cache
def speed(calls: int) -> float:
    """Tokens a second, of all calls at once."""
    return float(np.interp(calls, list(SPEEDS), list(SPEEDS.values())))


@dataclass
class Replica:
    """`served` is what each of its calls has had so far; a call ends when that reaches what was due to it."""

    served: float = 0.0
    calls: list[tuple[float, int]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Tokens a second, of one call."""
        return speed(len(self.calls)) / len(self.calls)

    @property
    def next_end(self) -> float:
        return (self.calls[0][0] - self.served) / self.rate if self.calls else math.inf


@dataclass
class Outcome:
    seconds: float = 0.0
    calls: int = 0
    away: int = 0
    computed: int = 0
    least: int = 0
    peak: float = 0.0

    def line(self) -> dict[str, float]:
        return {
            "fullest over mean (%)": 100 * (self.peak / self.seconds - 1),
            "calls away from home (%)": 100 * self.away / self.calls,
            "prompt tokens over minimum (%)": 100 * (self.computed / self.least - 1),
            "calls/s": self.calls / self.seconds,
        }


class Simulation:
    def __init__(
        self, replicas: int, in_flight: int, bound: float, sticky: bool, turns: int, think_s: float, seed: int
    ) -> None:
        self._ring = Ring(replicas, seed)
        self._random = random.Random(seed)
        self._replicas = [Replica() for _ in range(replicas)]
        self._bound, self._sticky, self._turns, self._think_s = bound, sticky, turns, think_s
        self._left = 4 * in_flight
        self._begun = 0
        self._turn: dict[int, int] = defaultdict(int)
        self._homes: dict[int, list[int]] = {}
        self._cached: dict[tuple[int, int], int] = defaultdict(int)
        self._thinking: list[tuple[float, int]] = []
        self._now = 0.0
        self.outcome = Outcome()

    def run(self, in_flight: int) -> Outcome:
        for _ in range(in_flight):
            self._begin()
        while self._thinking or any(replica.calls for replica in self._replicas):
            self._step()
        return self.outcome

    def _begin(self) -> None:
        if self._left:
            self._left -= 1
            self._begun += 1
            self._homes[self._begun] = self._ring.ranked(f"session-{self._begun}")
            self._think(self._begun)

    def _think(self, session: int) -> None:
        seconds = self._random.expovariate(1 / self._think_s) if self._think_s else 0.0
        heapq.heappush(self._thinking, (self._now + seconds, session))

    def _step(self) -> None:
        """To the next call that ends, or begins."""
        ends = [replica.next_end for replica in self._replicas]
        wakes = self._thinking[0][0] - self._now if self._thinking else math.inf
        seconds = max(0.0, min(wakes, *ends))
        loads = [len(replica.calls) for replica in self._replicas]
        if sum(loads):
            self.outcome.peak += seconds * max(loads) * len(loads) / sum(loads)
        self.outcome.seconds += seconds
        self._now += seconds
        for replica in self._replicas:
            if replica.calls:
                replica.served += seconds * replica.rate
        if wakes <= min(ends):
            self._call(heapq.heappop(self._thinking)[1])
        else:
            self._end(ends.index(min(ends)))

    def _call(self, session: int) -> None:
        homes = self._homes[session]
        order = homes if self._sticky else self._random.sample(homes, len(homes))
        chosen = next((number for number in order if len(self._replicas[number].calls) < self._bound), order[0])
        history = FIRST + self._turn[session] * (NEW + GENERATED)
        computed = history - self._cached[chosen, session]
        self.outcome.calls += 1
        self.outcome.away += chosen != homes[0]
        self.outcome.computed += computed
        self.outcome.least += NEW if self._turn[session] else FIRST
        self._cached[chosen, session] = history + GENERATED
        replica = self._replicas[chosen]
        heapq.heappush(replica.calls, (replica.served + computed / PREFILL + GENERATED, session))

    def _end(self, number: int) -> None:
        session = heapq.heappop(self._replicas[number].calls)[1]
        self._turn[session] += 1
        if self._turn[session] < self._turns:
            self._think(session)
        else:
            self._begin()


def measure(
    replicas: int, in_flight: int, factor: float, sticky: bool, turns: int, think_s: float, seeds: int
) -> dict[str, Any]:
    """The mean over several rings."""
    bound = max(1, math.ceil(factor * in_flight / replicas)) if math.isfinite(factor) else math.inf
    lines = [
        Simulation(replicas, in_flight, bound, sticky, turns, think_s, seed).run(in_flight).line()
        for seed in range(seeds)
    ]
    means = {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}
    said = "no affinity" if not sticky else f"{factor:g}" if math.isfinite(factor) else "none"
    return {"replicas": replicas, "in flight": in_flight, "bound / fair share": said, **means}


def main(arguments: Sequence[str] | None = None) -> int:
    given, heading = begin(_parser(), arguments)
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    lines = []
    for replicas, in_flight in CASES:
        for factor, sticky in [*((factor, True) for factor in FACTORS), (math.inf, False)]:
            lines.append(measure(replicas, in_flight, factor, sticky, given.turns, given.think_s, given.seeds))
    print(table(lines))
    heading.write(given.json, lines=lines)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description=__doc__)
    parser.add_argument("--turns", type=positive, default=10)
    parser.add_argument(
        "--think-s", type=float, default=0.0, help="seconds between the calls of an episode, in the mean"
    )
    parser.add_argument("--seeds", type=positive, default=5, help="rings that are tried")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
