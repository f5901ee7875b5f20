"""Draws what changed over the versions of the weights: rewards, failures and lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ray_gym.report import plot
from ray_gym.report.charts import Chart
from ray_gym.report.markup import Markup
from ray_gym.report.numbers import of
from ray_gym.statistics.interval import Interval
from ray_gym.statistics.means import mean_over_tasks
from ray_gym.statistics.proportions import proportion_over_tasks

MOST_POINTS = 60
"""Most points of a line; more versions are taken together, as many in each."""
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Holds a number of each episode that is followed over versions."""

    name: str
    title: str
    of: str
    """Words for the episodes that have it."""
    values: NDArray[np.float64]
    """Its values; NaN for an episode that does not count."""
    estimate: Callable[[NDArray[np.float64], Rows], Interval]


def charts_of_versions(index: pa.Table) -> Iterator[Chart]:
    """Yields a chart of rewards, of lengths and of failures, each over the versions; none if there are not two versions.

    `index`: rows under `ray_gym.viewer.index_rows.INDEX`. An episode counts at its lowest version, and not at all if
    nothing was generated in it.
    """
    known = index.filter(pc.is_valid(index.column("version")))
    if not known.num_rows:
        return
    parts, each = _parts(known)
    tasks, versions = _codes(known), _floats(known, "version")
    for quantity in _quantities(known):
        found = []
        for rows in parts:
            kept = rows[np.isfinite(quantity.values[rows])]
            if len(kept):
                found.append((float(versions[kept].mean()), quantity.estimate(quantity.values[kept], tasks[kept])))
        if len(found) > 1 and any(one.value for _, one in found):
            taken = f", {of(each, 'version')} a point" if each > 1 else ""
            note = f"{quantity.of}; with 95% intervals over tasks{taken}"
            yield Chart(quantity.name, note, _drawn(quantity.name, quantity.title, found))


def _quantities(known: pa.Table) -> list[_Quantity]:
    is_scored = _flags(known, "completed") & np.isfinite(_floats(known, "reward"))
    rewards, tokens = (np.where(is_scored, _floats(known, name), np.nan) for name in ("reward", "generated_tokens"))
    failed = _flags(known, "failed").astype(np.float64)
    return [
        _Quantity("Reward over versions", "mean reward", "completed episodes", rewards, mean_over_tasks),
        _Quantity("Length over versions", "generated tokens", "completed episodes", tokens, mean_over_tasks),
        _Quantity("Failures over versions", "share that failed", "all episodes", failed, proportion_over_tasks),
    ]


def _drawn(name: str, title: str, found: list[tuple[float, Interval]]) -> Markup:
    lows = [(at, one.value if one.low is None else one.low) for at, one in found]
    highs = [(at, one.value if one.high is None else one.high) for at, one in found]
    low, high = min(value for _, value in lows), max(value for _, value in highs)
    air = 0.04 * (high - low)
    bottom = 0.0 if low >= 0 > low - air else low - air
    x = plot.across(found[0][0], found[-1][0], "version of the weights")
    y = plot.upward(bottom, high + air, title)
    points = [(at, one.value) for at, one in found]
    few = [plot.dot(x, y, point) for point in points] if len(points) <= MOST_POINTS // 2 else []
    label = f"{name}: {title} from version {found[0][0]:g} to {found[-1][0]:g}"
    drawn = (plot.band(x, y, lows, highs), plot.line(x, y, points), few)
    return plot.plot(label, x, y, *drawn, whole=(True, False))


def _parts(index: pa.Table) -> tuple[list[Rows], int]:
    """Returns the rows of each version, or of as many versions as a point stands for, and how many these are."""
    versions = np.asarray(index.column("version").to_numpy(), dtype=np.int64)
    numbers, codes = np.unique(versions, return_inverse=True)
    each = -(-len(numbers) // MOST_POINTS)
    return [np.flatnonzero(codes // each == part) for part in range(-(-len(numbers) // each))], each


def _codes(index: pa.Table) -> Rows:
    texts = [pc.fill_null(index.column(name), "") for name in ("env_id", "task_id")]
    joined = pc.binary_join_element_wise(*texts, "\x00").combine_chunks()
    return np.asarray(pc.dictionary_encode(joined).indices.to_numpy(), dtype=np.int64)


def _floats(index: pa.Table, name: str) -> NDArray[np.float64]:
    return np.asarray(pc.cast(index.column(name), pa.float64()).to_numpy(), dtype=np.float64)


def _flags(index: pa.Table, status: str) -> NDArray[np.bool_]:
    return np.asarray(pc.equal(index.column("status"), status).fill_null(False).to_numpy(), dtype=np.bool_)
