"""Compares two runs, paired by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ray_gym.statistics.collect import Collected
from ray_gym.statistics.describe import PLAYED, Success, hits_of, is_scored
from ray_gym.statistics.pairs import Difference, adjusted, difference, flips
from ray_gym.statistics.slices import Key, rows_of_slices

Name = TypeVar("Name")

LENGTHS = ("turns", "generated_tokens", "tool_calls", "tool_errors")
"""Further numbers of completed episodes that are compared."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Compares a number of the episodes of two runs."""

    first: float
    """Mean over the tasks that both have, each of which counts once."""
    second: float
    difference: Difference
    p_adjusted: float | None = None
    """`difference.p`, adjusted by Holm's method for all that is compared at once; None without one."""


@dataclass(frozen=True, slots=True)
class Flips:
    """Counts the tasks that are a success in one run only; each task has one episode in each run."""

    gained: int
    """Number of the tasks that are a success in the second run only."""
    lost: int
    """Number of the tasks that are a success in the first run only."""
    p: float
    """McNemar's exact p."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares two runs. Rewards, successes and lengths are those of completed episodes."""

    common: int
    """Number of the tasks that both runs have."""
    only_first: int
    only_second: int
    numbers: dict[str, Compared]
    """Numbers that are compared, by name: reward, success, failed, and `LENGTHS`."""
    flips: Flips | None
    """None unless each common task has one completed episode in each run."""


@np.errstate(over="ignore", invalid="ignore")  # a remark says it
def compare(first: Collected, second: Collected, is_success: Success) -> Comparison:
    """Compares a second run with a first. Errors: ValueError if they have no task in common."""
    tasks = [set(run.task_keys()) for run in (first, second)]
    common = tasks[0] & tasks[1]
    if not common:
        raise ValueError("the two runs have no task in common")
    values = [_values(run, is_success) for run in (first, second)]
    found = {name: one for name in values[0] if (one := _compared(values[0][name], values[1][name])) is not None}
    return Comparison(
        len(common),
        len(tasks[0] - common),
        len(tasks[1] - common),
        _with_adjusted(found),
        _flips(values[0]["success"], values[1]["success"]),
    )


def compare_slices(
    first: Collected, second: Collected, columns: Sequence[str], is_success: Success
) -> dict[Key, dict[str, Compared]]:
    """Compares the rewards and the successes of the slices that both runs have, by the slices' keys. The p-values of all
    slices are adjusted together. Slices without a common task are left out.
    """
    rows = [rows_of_slices(run, columns) for run in (first, second)]
    values = [_values(run, is_success, rewards_only=True) for run in (first, second)]
    found: dict[tuple[Key, str], Compared] = {}
    for key in rows[0]:
        for name in ("reward", "success") if key in rows[1] else ():
            parts = [_Values(one[name].tasks, one[name].numbers, of[key]) for one, of in zip(values, rows, strict=True)]
            if (one := _compared(*parts)) is not None:
                found[key, name] = one
    slices: dict[Key, dict[str, Compared]] = {}
    for (key, name), one in _with_adjusted(found).items():
        slices.setdefault(key, {})[name] = one
    return slices


@dataclass(frozen=True)
class _Values:
    """Holds a number of each episode, NaN for an episode that does not have it."""

    tasks: Sequence[tuple[str, str]]
    numbers: NDArray[np.float64]
    rows: NDArray[np.int64] | None = None
    """Places of the episodes that are taken; None for all."""

    def pairs(self) -> list[tuple[tuple[str, str], float]]:
        """Returns the task and the number of each episode that has it."""
        rows = range(len(self.numbers)) if self.rows is None else self.rows.tolist()
        return [(self.tasks[row], float(self.numbers[row])) for row in rows if not np.isnan(self.numbers[row])]


def _values(run: Collected, is_success: Success, *, rewards_only: bool = False) -> dict[str, _Values]:
    """Returns the numbers that are compared, by name."""
    tasks, rewards, scored = run.task_keys(), run.numbers("reward"), is_scored(run)
    status = run.texts("status").astype(str)
    found = {"reward": np.where(scored, rewards, np.nan), "success": np.full(len(run), np.nan)}
    found["success"][scored] = hits_of(rewards[scored], is_success)
    if not rewards_only:
        found["failed"] = np.where(np.isin(status, PLAYED), status == "failed", np.nan)
        found |= {name: np.where(scored, run.numbers(name), np.nan) for name in LENGTHS}
    return {name: _Values(tasks, numbers) for name, numbers in found.items()}


def _compared(first: _Values, second: _Values) -> Compared | None:
    """Compares a number; None if no task has it in both runs."""
    before, after = first.pairs(), second.pairs()
    common = {task for task, _ in before} & {task for task, _ in after}
    if not common:
        return None
    kept = [[pair for pair in pairs if pair[0] in common] for pairs in (before, after)]
    return Compared(_mean_of_tasks(kept[0]), _mean_of_tasks(kept[1]), difference(before, after))


def _mean_of_tasks(pairs: list[tuple[tuple[str, str], float]]) -> float:
    sums: dict[tuple[str, str], list[float]] = {}
    for task, value in pairs:
        sums.setdefault(task, []).append(value)
    return float(np.mean([np.mean(values) for values in sums.values()]))


def _with_adjusted(found: dict[Name, Compared]) -> dict[Name, Compared]:
    """Returns the comparisons with their adjusted p-values. What shows no spread is not tested."""
    tested = {name: one.difference.p for name, one in found.items() if one.difference.p is not None}
    told = dict(zip(tested, adjusted(list(tested.values())), strict=True))
    return {name: replace(one, p_adjusted=told.get(name)) for name, one in found.items()}


def _flips(first: _Values, second: _Values) -> Flips | None:
    before, after = first.pairs(), second.pairs()
    common = {task for task, _ in before} & {task for task, _ in after}
    kept = [[pair for pair in pairs if pair[0] in common] for pairs in (before, after)]
    if not common or any(len(pairs) > len(common) for pairs in kept):
        return None
    return Flips(*flips(*kept))
