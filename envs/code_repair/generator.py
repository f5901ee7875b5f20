"""Makes tasks: draws a package, plants a fault that checks can see, and tells of it by one example."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray_gym.envs.code_repair.mutations import KINDS, Kind, Mutation, mutations_of
from ray_gym.envs.code_repair.packages import BLUEPRINTS, Blueprint, Drawn, Probe
from ray_gym.envs.code_repair.running import Package, RunsForEver
from ray_gym.envs.code_repair.task import Check, CodeRepairTask, File
from ray_gym.envs.code_repair.wording import issue_of, path_of_tests, write_tests

PROBES = 60
"""Probes that are drawn of a package."""
MOST_TRIED = 6
"""Faults that are tried in a package before another one is drawn."""
LEAST_SEEN = 4
"""Probes that have to see the fault, one of which is the issue's example."""

Outcome = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Says which tasks are made."""

    blueprints: Sequence[Blueprint] = BLUEPRINTS
    kinds: Sequence[Kind] = KINDS
    """Kinds of faults."""
    visible: int = 4
    """Number of visible tests."""
    hidden: int = 10
    """Number of hidden checks."""


def make_task(rng: random.Random, wanted: Wanted) -> CodeRepairTask:
    """Makes a task. Errors: ValueError if no such fault can be planted in these packages."""
    for _ in range(100):
        drawn = Drawn.of(rng.choice(wanted.blueprints), rng)
        probes = list(dict.fromkeys(drawn.probe(rng) for _ in range(PROBES)))
        right = _outcomes(drawn, drawn.sources, probes)
        assert right is not None, f"{drawn.blueprint.name} runs for ever"
        kind = rng.choice(wanted.kinds)
        for path, fault in _faults(rng, drawn, kind):
            sources = {**drawn.sources, path: fault.source}
            given = _outcomes(drawn, sources, probes)
            if given is not None and (made := _told(rng, wanted, drawn, probes, right, given, sources, path, fault)):
                return made
    raise ValueError("the options leave no fault that checks can see")


def _faults(rng: random.Random, drawn: Drawn, kind: Kind) -> Iterator[tuple[str, Mutation]]:
    """Yields some faults of a kind, each with the path of its module, in random order."""
    found = [
        (path, fault)
        for path, source in drawn.sources.items()
        if not path.endswith("__init__.py")
        for fault in mutations_of(source)
        if fault.kind == kind
    ]
    rng.shuffle(found)
    yield from found[:MOST_TRIED]


def _outcomes(drawn: Drawn, sources: Mapping[str, str], probes: Sequence[Probe]) -> list[Outcome] | None:
    """Returns what probes give; None if one of them runs for ever."""
    package = Package(drawn.package, sources)
    try:
        return [package.run(drawn.imports, probe.lines, probe.asks) for probe in probes]
    except RunsForEver:
        return None


def _told(
    rng: random.Random, wanted: Wanted, drawn: Drawn, probes: Sequence[Probe], right: Sequence[Outcome],
    given: Sequence[Outcome], sources: Mapping[str, str], path: str, fault: Mutation,
) -> CodeRepairTask | None:  # fmt: skip
    """Makes the task of a fault; returns None if too few probes see it, or too many."""
    seen = [number for number in range(len(probes)) if given[number] != right[number]]
    unseen = [number for number in range(len(probes)) if given[number] == right[number]]
    if len(seen) < LEAST_SEEN or len(unseen) < wanted.visible + wanted.hidden // 2:
        return None
    example = min(seen, key=lambda number: (len(probes[number].lines), len(probes[number].asks)))
    seen.remove(example)
    visible, rest = unseen[: wanted.visible], unseen[wanted.visible :]
    hidden = seen[: wanted.hidden - wanted.hidden // 2]
    hidden += rest[: wanted.hidden - len(hidden)]
    rng.shuffle(hidden)
    tests = write_tests(drawn, [(probes[number], right[number]) for number in visible])
    return CodeRepairTask(
        package=drawn.package,
        issue=issue_of(rng, drawn, probes[example], given[example], right[example], fault.function),
        files=_files({**sources, path_of_tests(drawn.package): tests}),
        imports=drawn.imports,
        checks=tuple(
            Check(lines=probes[number].lines, asks=probes[number].asks, expected=json.dumps(right[number]))
            for number in hidden
        ),
        fixed=_files({path: drawn.sources[path]}),
        kind=fault.kind,
    )


def _files(texts: Mapping[str, str]) -> tuple[File, ...]:
    return tuple(File(path=path, text=text) for path, text in texts.items())
