"""Describes the parts of a run: the episodes of each environment, of each task, of each stop reason, ..."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ray_gym.statistics.collect import SLICED_BY, Collected
from ray_gym.statistics.describe import PLAYED, Success, hits_of, is_scored
from ray_gym.statistics.groups import rows_by
from ray_gym.statistics.interval import Interval
from ray_gym.statistics.means import codes_of, mean_over_tasks
from ray_gym.statistics.proportions import proportion_over_tasks

SHORT = {"env": "env_id", "task": "task_id", "group": "group_id", "stop": "stop_reason", "failure": "failure_kind"}
"""Short names of columns."""
Key = tuple[str | int | None, ...]
"""Values of a slice's columns."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Describes the episodes that have the same values in some columns."""

    key: Key
    episodes: int
    tasks: int
    reward: Interval | None
    """Mean reward of its completed episodes; None without any."""
    success: Interval | None
    failed: Interval | None
    """Share of its played episodes that have no score; None if all were cancelled."""


def columns_of(names: str) -> list[str]:
    """Returns the columns that a text like `env,task` names. Errors: ValueError for an unknown column, or none."""
    found = [SHORT.get(name.strip(), name.strip()) for name in names.split(",") if name.strip()]
    if not found:
        raise ValueError(f"no column is named; there are: {', '.join([*SHORT, *SLICED_BY])}")
    for name in found:
        if name not in SLICED_BY:
            raise ValueError(f"there is no column {name!r}; there are: {', '.join([*SHORT, *SLICED_BY])}")
    return list(dict.fromkeys(found))


def rows_of_slices(given: Collected, columns: Sequence[str]) -> dict[Key, NDArray[np.int64]]:
    """Returns the places of the episodes of each slice, by its key, in the order of the keys."""
    keys = list(zip(*(given.episodes.column(name).to_pylist() for name in columns), strict=True))
    rows = rows_by(codes_of(keys))
    found = {keys[of_slice[0]]: of_slice for of_slice in rows}
    return dict(sorted(found.items(), key=lambda item: [(value is None, value or 0) for value in item[0]]))


def slices_of(given: Collected, columns: Sequence[str], is_success: Success) -> list[Slice]:
    """Describes the slices of a run. `columns`: as `columns_of` returns them."""
    tasks, rewards, scored = given.tasks(), given.numbers("reward"), is_scored(given)
    hits = np.zeros(len(given), dtype=np.bool_)
    hits[scored] = hits_of(rewards[scored], is_success)
    status = given.texts("status").astype(str)
    failed, played = status == "failed", np.isin(status, PLAYED)
    found = []
    for key, rows in rows_of_slices(given, columns).items():
        kept, of_played = rows[scored[rows]], rows[played[rows]]
        found.append(
            Slice(
                key,
                len(rows),
                len(np.unique(tasks[rows])),
                mean_over_tasks(rewards[kept], tasks[kept]) if len(kept) else None,
                proportion_over_tasks(hits[kept], tasks[kept]) if len(kept) else None,
                proportion_over_tasks(failed[of_played], tasks[of_played]) if len(of_played) else None,
            )
        )
    return found
