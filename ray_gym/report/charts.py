"""Draws what the numbers of a run look like: rewards, groups, lengths, and what changed over the versions of the weights.

What is drawn has a bound: thousands of groups are thinned, and thousands of episodes are counted in cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ray_gym.report import plot
from ray_gym.report.markup import Markup, element
from ray_gym.report.numbers import of, percent, plain
from ray_gym.statistics.collect import Collected
from ray_gym.statistics.describe import is_scored
from ray_gym.statistics.groups import rows_by

BINS = 20
FEW_VALUES = 12
"""Most distinct rewards that have a bar each."""
MOST_GROUPS = 100
MOST_DOTS = 400
CELLS = (30, 16)
"""Cells of the map of lengths and rewards, across and upward."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chart:
    """Holds a plot with its name and a sentence about it."""

    name: str
    note: str
    drawn: Markup

    def markup(self) -> Markup:
        """Returns the chart as a figure of the page."""
        head = element("figcaption", element("strong", self.name), " ", element("span", self.note, class_="quiet"))
        return element("figure", head, self.drawn)


def charts_of(collected: Collected) -> Iterator[Chart]:
    """Yields the charts of a run's completed episodes."""
    scored = collected.where(is_scored(collected))
    rewards = scored.numbers("reward")
    kept = np.isfinite(rewards)
    if not kept.all():
        scored, rewards = scored.where(kept), rewards[kept]
    if not len(rewards):
        return
    yield _distribution(rewards)
    groups = [one for one in rows_by(scored.groups()) if len(one) > 1]
    if groups:
        yield _spread(rewards, groups)
    lengths = scored.numbers("generated_tokens")
    known = ~np.isnan(lengths)
    if known.any() and np.ptp(lengths[known]) > 0:
        yield _lengths(lengths[known], rewards[known])


def _distribution(rewards: Numbers) -> Chart:
    values, counts = np.unique(rewards, return_counts=True)
    if len(values) <= FEW_VALUES:
        gap = float(np.diff(values).min()) if len(values) > 1 else 1.0
        wide = 0.8 * min(max(gap, float(np.ptp(values)) / 24), float(np.ptp(values)) / 2.5 or 1.0)
        bars = [(value - wide / 2, value + wide / 2, count) for value, count in zip(values, counts, strict=True)]
        told = [f"reward {plain(value)}" for value in values]
    else:
        counts, edges = np.histogram(rewards, BINS)
        bars = list(zip(edges[:-1], edges[1:], counts, strict=True))
        told = [f"rewards from {plain(low)} to {plain(high)}" for low, high, _ in bars]
    x = plot.across(bars[0][0], bars[-1][1], "reward")
    y = plot.upward(0, float(counts.max()) * 1.05, "episodes")
    drawn = [
        plot.bar(x, y, low, high, int(count), f"{name}: {of(int(count), 'episode')}")
        for (low, high, count), name in zip(bars, told, strict=True)
    ]
    label = f"Histogram of the rewards of {of(len(rewards), 'episode')}, from {plain(values[0])} to {plain(values[-1])}"
    note = f"{of(len(rewards), 'completed episode')}, median {plain(float(np.median(rewards)))}"
    return Chart("Rewards", note, plot.plot(label, x, y, drawn, whole=(False, True)))


def _spread(rewards: Numbers, groups: list[NDArray[np.int64]]) -> Chart:
    """Draws each group as a line from its lowest to its highest reward, in the order of their means."""
    ranges = sorted(
        (float(rewards[one].mean()), float(rewards[one].min()), float(rewards[one].max())) for one in groups
    )
    alike = sum(low == high for _, low, high in ranges)
    chosen = ranges
    if len(ranges) > MOST_GROUPS:
        chosen = [ranges[place] for place in np.linspace(0, len(ranges) - 1, MOST_GROUPS).round().astype(int).tolist()]
    is_thinned = len(chosen) < len(ranges)
    places = np.linspace(0, 100, len(chosen)) if is_thinned else np.arange(1, len(chosen) + 1)
    x = plot.across(*_around(places[0], places[-1]), f"groups by their mean{' (per cent)' if is_thinned else ''}")
    y = plot.upward(*_around(min(low for _, low, _ in ranges), max(high for _, _, high in ranges)), "reward")
    drawn = []
    for place, (mean, low, high) in zip(places.tolist(), chosen, strict=True):
        drawn.append(plot.upright(x, y, place, low, high))
        told = f"mean {plain(mean)}, from {plain(low)} to {plain(high)}"
        drawn.append(plot.dot(x, y, (place, mean), told, "dot flat" if low == high else "dot"))
    thinned = f"{MOST_GROUPS} of " if is_thinned else ""
    note = (
        f"{thinned}{of(len(ranges), 'group')}: mean, lowest and highest; {percent(alike / len(ranges))} have no spread"
    )
    label = f"Rewards of {of(len(ranges), 'group')} by their mean, each from its lowest to its highest reward"
    return Chart("Spread within groups", note, plot.plot(label, x, y, drawn, whole=(True, False)))


def _lengths(lengths: Numbers, rewards: Numbers) -> Chart:
    x = plot.across(*_around(float(lengths.min()), float(lengths.max())), "generated tokens")
    y = plot.upward(*_around(float(rewards.min()), float(rewards.max())), "reward")
    if len(lengths) <= MOST_DOTS:
        drawn = [plot.dot(x, y, point) for point in zip(lengths.tolist(), rewards.tolist(), strict=True)]
        note = "an episode a dot"
    else:
        drawn, note = _cells(x, y, lengths, rewards), "the stronger the colour, the more episodes"
    label = f"Generated tokens against the rewards of {of(len(lengths), 'episode')}"
    return Chart("Length and reward", note, plot.plot(label, x, y, drawn, whole=(True, False)))


def _cells(x: plot.Axis, y: plot.Axis, lengths: Numbers, rewards: Numbers) -> list[Markup]:
    counts, columns, rows = np.histogram2d(lengths, rewards, CELLS, [[x.low, x.high], [y.low, y.high]])
    most, drawn = float(np.log1p(counts.max())), []
    for column, row in zip(*np.nonzero(counts), strict=True):
        left, right, top, bottom = (
            x.at(columns[column]),
            x.at(columns[column + 1]),
            y.at(rows[row + 1]),
            y.at(rows[row]),
        )
        strength = 0.12 + 0.88 * float(np.log1p(counts[column, row])) / most
        told = f"{of(int(counts[column, row]), 'episode')} of {plain(columns[column])} to {plain(columns[column + 1])} tokens"
        drawn.append(plot.cell(left, top, right - left, bottom - top, strength, told))
    return drawn


def _around(low: float, high: float) -> tuple[float, float]:
    """Returns bounds with a little air around the values."""
    air = 0.04 * (high - low)
    return low - air, high + air
