"""Checks that the seed alone decides the tasks, that they differ, and that they can be read back from JSON."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding, shorten
from ray_gym.errors import placed
from ray_gym.seeds import derive_seed
from ray_gym.strict_types import read_back
from ray_gym.task import task_json

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

GENERATED = 100
FEWEST_DISTINCT = 0.5
"""Share of the generated tasks that must be distinct. It is small, since some environments have few tasks."""


async def look(evidence: Evidence) -> list[Finding]:
    """Generates tasks twice, in two orders, reads them back from JSON, and returns findings.

    Tasks of a file are only read back.
    """
    subject = evidence.subject
    own = [(f"row {index}", row.task) for index, row in enumerate(subject.tasks)]
    if subject.from_file:
        return _round_trips(evidence, own)
    where = f"{subject.environment_class.__name__}.generate"
    try:
        first = await _generate(evidence, range(GENERATED))
        again = await _generate(evidence, reversed(range(GENERATED)))
    except (Exception, SystemExit) as error:
        return [Finding(where, f"it raises {placed(error)}", "make it give a valid task for every rng and index")]
    findings = []
    for index in range(GENERATED):
        if first[index] != again[index]:
            what = f"task {index} is another one when it is generated again, in another order"
            findings.append(
                Finding(where, what, "draw from the `rng` that it is given, and keep nothing between calls")
            )
            break
    distinct = len(set(first.values()))
    if distinct < FEWEST_DISTINCT * GENERATED:
        what = f"only {distinct} of {GENERATED} tasks are different"
        findings.append(Finding(where, what, "draw more of the task from `rng`"))
    return [*findings, *_round_trips(evidence, [(f"task {index}", text) for index, text in first.items()])]


async def _generate(evidence: Evidence, indices: Iterable[int]) -> dict[int, str]:
    environment, seed = evidence.subject.make(), evidence.subject.seed
    tasks = {}
    for index in indices:
        await asyncio.sleep(0)  # a generator may take its time, all in all
        task = environment.generate(random.Random(derive_seed(seed, "task", index)), index)
        tasks[index] = task_json(task)
    return tasks


def _round_trips(evidence: Evidence, rows: list[tuple[str, str]]) -> list[Finding]:
    task_type = evidence.subject.environment_class.task_type
    for place, text in rows:
        try:
            again = task_json(read_back(text, task_type))
        except ValueError as error:
            what = f"{place} can't be read back from its JSON: {shorten(str(error))}"
        else:
            if again == text:
                continue
            what = f"{place} is another one after a round trip through JSON"
        return [Finding(task_type.__name__, what, "make the task type read what it writes (`model_dump_json`)")]
    return []
