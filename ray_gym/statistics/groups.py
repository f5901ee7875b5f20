"""Estimates what the groups of a run show: how far rewards of a group are apart, and what k attempts at a task give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ray_gym.statistics.attempts import best_of, majority_at, pass_at, pass_hat
from ray_gym.statistics.interval import Interval
from ray_gym.statistics.means import mean_over_tasks
from ray_gym.statistics.proportions import proportion_over_tasks

RIGHT = ("right",)
"""Stands for all answers of a task that were right."""
MOST_ATTEMPTS = 128
"""Largest number of attempts that is told of unless others are asked for."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Says how far the rewards of a group are apart. Without spread a group teaches a group-based trainer nothing."""

    groups: int
    """Number of the groups with at least two completed episodes; only these count here."""
    single: int
    """Number of the other groups."""
    deviation: Interval | None
    """Mean over groups of the standard deviation of their rewards (n - 1 in the denominator); None without groups."""
    without: Interval | None
    """Share of the groups whose rewards are all equal; None without groups."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Says what k attempts at a task give: means over tasks, each of which counts once.

    The intervals of the three chances are Wilson's on the effective number of episodes, so that of pass@1 is that of the
    share of successes where all tasks have as many episodes."""

    k: int
    tasks: int
    """Number of the tasks that have at least k completed episodes; only these count here."""
    left_out: int
    """Number of the tasks that have fewer."""
    pass_at: Interval
    """Chance that at least one of k episodes is a success (pass@k)."""
    pass_hat: Interval
    """Chance that all of k episodes are successes (pass^k)."""
    best_of: Interval
    """Highest reward of k episodes."""
    majority: Interval | None = None
    """Chance that the commonest answer of k episodes is right (majority@k); None without answers."""


def spread_within(rewards: NDArray[np.float64], groups: NDArray[np.int64], tasks: NDArray[np.int64]) -> Spread:
    """Returns the spread of rewards within groups. All arrays have an entry an episode."""
    rows = rows_by(groups)
    several = [of_group for of_group in rows if len(of_group) > 1]
    if not several:
        return Spread(0, len(rows), None, None)
    of_tasks = np.array([tasks[of_group[0]] for of_group in several])
    deviations = [float(np.std(rewards[of_group], ddof=1)) for of_group in several]
    alike = [bool(np.ptp(rewards[of_group]) == 0) for of_group in several]
    without = proportion_over_tasks(alike, of_tasks)
    return Spread(len(several), len(rows) - len(several), mean_over_tasks(deviations, of_tasks), without)


def attempts_at(
    rewards: NDArray[np.float64],
    hits: NDArray[np.bool_],
    tasks: NDArray[np.int64],
    ks: Sequence[int],
    answers: Sequence[Hashable | None] | None = None,
) -> list[Attempts]:
    """Returns what k attempts give, for each k that some task has as many episodes of. All arrays have an entry an
    episode; `answers`: the answer of each, None for none.
    """
    rows = rows_by(tasks)
    told = [_marked(of_task, hits, answers) for of_task in rows] if answers is not None else None
    return [
        _at(k, [(rewards[of_task], hits[of_task]) for of_task in enough], len(rows), _majority(k, told))
        for k in ks
        if (enough := [of_task for of_task in rows if len(of_task) >= k])
    ]


def _at(
    k: int, enough: list[tuple[NDArray[np.float64], NDArray[np.bool_]]], tasks: int, majority: Interval | None
) -> Attempts:
    """Returns what k attempts give. `enough`: rewards and hits of each task that has k episodes."""
    numbers, apart = np.arange(len(enough)), sum(len(hits) // k for _, hits in enough)  # attempts that share no episode
    at = proportion_over_tasks([pass_at(hits, k) or 0.0 for _, hits in enough], numbers, most=apart)
    hat = proportion_over_tasks([pass_hat(hits, k) or 0.0 for _, hits in enough], numbers, most=apart)
    best = mean_over_tasks([best_of(rewards, k) or 0.0 for rewards, _ in enough], numbers)
    return Attempts(k, len(enough), tasks - len(enough), at, hat, best, majority)


def _majority(k: int, answers: list[list[Hashable | None]] | None) -> Interval | None:
    """Returns majority@k over the tasks that have k episodes; None without answers, or with too many ways to choose."""
    chances = [chance for one in answers or () if (chance := majority_at(one, RIGHT, k)) is not None]
    apart = sum(len(one) // k for one in answers or () if len(one) >= k)
    return proportion_over_tasks(chances, np.arange(len(chances)), most=apart) if chances else None


def powers_of_two(most: int) -> list[int]:
    """Returns 1, 2, 4, ... up to `most`, and `most` itself, as far as they are at most `MOST_ATTEMPTS`; none for 0."""
    powers = [2**power for power in range(min(most, MOST_ATTEMPTS).bit_length())]
    return powers if not powers or powers[-1] == most or most > MOST_ATTEMPTS else [*powers, most]


def rows_by(codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Returns the places of each code in an array of codes, in the order of the codes."""
    if not len(codes):
        return []
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _marked(
    rows: NDArray[np.int64], hits: NDArray[np.bool_], answers: Sequence[Hashable | None]
) -> list[Hashable | None]:
    """Returns the answers of a task's episodes, with `RIGHT` for those that most of their episodes have a success
    with: right answers in several forms are one.
    """
    votes: dict[Hashable, list[bool]] = defaultdict(list)
    for row in rows:
        votes[answers[row]].append(bool(hits[row]))
    right = {answer for answer, won in votes.items() if answer is not None and 2 * sum(won) > len(won)}
    return [RIGHT if answers[row] in right else answers[row] for row in rows]
