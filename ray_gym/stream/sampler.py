"""Chooses which task the next group plays, by how well the policy has done at each task so far. It uses no Ray.

* By difficulty: tasks lie in three pools by their measured reward, and each pool has a share of the groups. The pool
  that is furthest behind its share is next, and in it the task that was played longest ago, so that every task is
  measured again and again. While a pool is empty, the others have its share; it is owed nothing for that time.
* By weights: a function of the user's gives each task a weight.

A group that was dropped as stale counts for no pool: otherwise tasks whose episodes take long would be starved.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ray_gym.config.sections import SamplerSection
from ray_gym.data.tasks import TaskRow
from ray_gym.errors import UserError, placed
from ray_gym.seeds import derive_seed

Pool = Literal["easy", "middle", "hard"]
POOLS: tuple[Pool, ...] = ("easy", "middle", "hard")


@dataclass(frozen=True, slots=True)
class TaskRate:
    """Says how the policy has done at a task until now."""

    task_id: str
    task: str
    """The task as JSON text."""
    groups: int
    """Number of the groups that were measured."""
    reward: float | None
    """Mean reward of the policy, in which later groups count more; None before the first."""


Weigh = Callable[[Sequence[TaskRate]], Sequence[float]]
"""Function that gives each task a weight from 0 on, in the order of the tasks."""


class Sampler:
    """Chooses tasks by number, from measurements that it is told of in any order."""

    def __init__(self, rows: Sequence[TaskRow], seed: int, section: SamplerSection, weigh: Weigh | None) -> None:
        """Takes the tasks, the run's seed, and the function of `section.weights` (None: by difficulty)."""
        self._rows = rows
        self._seed = seed
        self._section = section
        self._weigh = weigh
        self._groups: NDArray[np.int64] = np.zeros(len(rows), np.int64)
        self._reward: NDArray[np.float64] = np.full(len(rows), np.nan)
        order = list(range(len(rows)))
        random.Random(derive_seed(seed, "sampler")).shuffle(order)
        self._last: NDArray[np.int64] = np.array(order) - len(rows)
        """Number of the group that played each task last; below 0, in a random order, for those that none has played."""
        self._counts = dict.fromkeys(POOLS, 0)
        self._owed = dict.fromkeys(POOLS, 0.0)
        """Number of groups that each pool is behind its share, below 0 if it is before it."""
        self._pools: list[tuple[Pool, dict[Pool, float]]] = []
        """Pool as one of which each group was chosen, and the pools' shares then, by the group's number."""

    def choose(self) -> tuple[int, Pool]:
        """Chooses the task of the next group, and returns its index and its pool.

        Errors: UserError if the function of weights fails.
        """
        pool, index = self._by_difficulty() if self._weigh is None else self._by_weights(len(self._pools))
        self.take(index, pool)
        return index, pool

    def take(self, index: int, pool: Pool) -> None:
        """Notes that the next group plays a task, as one of a pool."""
        self._last[index] = len(self._pools)
        shares = self._shares()
        self._owed = {one: self._owed[one] + shares[one] if one in shares else 0.0 for one in POOLS}
        self._owed[pool] -= 1
        self._counts[pool] += 1
        self._pools.append((pool, shares))

    def measure(self, index: int, reward: float) -> None:
        """Notes the mean reward of a group of a task. The last `memory` groups of a task count for its own."""
        self._groups[index] += 1
        share = 1 / min(self._groups[index], self._section.memory)
        before = self._reward[index]
        self._reward[index] = reward if np.isnan(before) else before + share * (reward - before)

    def lose(self, number: int) -> None:
        """Notes that a group was dropped as stale, so that its pool gets another."""
        pool, shares = self._pools[number]
        self._counts[pool] -= 1
        self._owed[pool] += 1
        for one, share in shares.items():
            self._owed[one] -= share

    def pool(self, index: int) -> Pool:
        """Returns the pool of a task. Tasks that were never measured are in the middle."""
        reward = self._reward[index]
        if np.isnan(reward):
            return "middle"
        return (
            "hard" if reward < self._section.hard_below else "easy" if reward > self._section.easy_above else "middle"
        )

    def status(self) -> dict[Pool, dict[str, float]]:
        """Returns for each pool the number of its tasks, and its share of the groups that were not lost."""
        members, total = self._members(), max(1, sum(self._counts.values()))
        return {pool: {"tasks": int(members[pool].sum()), "share": self._counts[pool] / total} for pool in POOLS}

    def _members(self) -> dict[Pool, NDArray[np.bool_]]:
        hard, easy = self._reward < self._section.hard_below, self._reward > self._section.easy_above
        return {"easy": easy, "middle": ~(hard | easy), "hard": hard}

    def _shares(self) -> dict[Pool, float]:
        """Returns the shares of the pools that have tasks; they make 1. Pools without a share are left out, unless only
        they have tasks.
        """
        given = {pool: getattr(self._section.shares, pool) for pool, tasks in self._members().items() if tasks.any()}
        whole = sum(given.values())
        if not whole:
            return {pool: 1 / len(given) for pool in given}
        return {pool: share / whole for pool, share in given.items() if share}

    def _by_difficulty(self) -> tuple[Pool, int]:
        shares = self._shares()
        pool = max(shares, key=lambda pool: self._owed[pool] + shares[pool])
        tasks = np.flatnonzero(self._members()[pool])
        return pool, int(tasks[self._last[tasks].argmin()])

    def _by_weights(self, number: int) -> tuple[Pool, int]:
        assert self._weigh is not None
        rates = [
            TaskRate(row.task_id, row.task, int(groups), None if np.isnan(reward) else float(reward))
            for row, groups, reward in zip(self._rows, self._groups, self._reward, strict=True)
        ]
        try:
            weights = np.array([float(weight) for weight in self._weigh(rates)])
            whole = float(sum(weights.tolist()))
        except Exception as error:
            raise UserError(f"tasks.sampler.weights: the function failed: {placed(error)}") from error
        if len(weights) != len(rates) or not math.isfinite(whole) or (weights < 0).any() or not whole:
            raise UserError(
                f"tasks.sampler.weights: it gave {len(weights)} weights for {len(rates)} tasks; each is a finite number from 0 "
                "on, one at least is above 0, and their sum is finite, too"
            )
        rng = random.Random(derive_seed(self._seed, "weights", number))
        index = rng.choices(range(len(weights)), weights.tolist())[0]
        return self.pool(index), index
