"""Collects numbers in one process until they are handed on: plain additions, in bounded memory.

It knows nothing of Ray.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ray_gym.metrics.table import Metric

MOST_HELD = 10_000
"""Values of one histogram series that are held between two drains."""
MOST_VALUES = 128
"""Values of a series that are handed on, evenly spread over those that are held: Ray takes values one by one, at 3 us
each.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading is what came since the last one: the increase of a counter, the value of a gauge, or all values of a
    histogram.
    """

    metric: Metric
    labels: tuple[str, ...]
    values: list[float]


@dataclass(slots=True)
class Count:
    """A count is a counter's increase since the last drain. Add to `since`."""

    since: float = 0


class Values:
    """Values of a histogram since the last drain are added with `observe`."""

    __slots__ = ("_kept", "observe")

    def __init__(self) -> None:
        self._kept: deque[float] = deque(maxlen=MOST_HELD)
        self.observe = self._kept.append

    def drain(self) -> list[float]:
        """Returns the values and forgets them; at most `MOST_VALUES`, evenly spread."""
        kept = list(self._kept)
        self._kept.clear()
        return kept[:: -(-len(kept) // MOST_VALUES) or 1]


@dataclass(slots=True)
class _Shown:
    """A shown series is read when it is drained: all sources that show the same, together."""

    sources: list[Callable[[], float]] = field(default_factory=list)
    told: float = 0


_Key = tuple[Metric, tuple[str, ...]]


class Recorder:
    """A recorder holds the metrics of one process.

    Callers keep the series that they ask for, so that recording is an addition.
    """

    def __init__(self) -> None:
        self._counts: dict[_Key, Count] = {}
        self._values: dict[_Key, Values] = {}
        self._shown: dict[_Key, _Shown] = {}

    def count(self, metric: Metric, *labels: str) -> Count:
        """Returns the counter of a metric for these labels."""
        return self._counts.setdefault(_key(metric, labels), Count())

    def values(self, metric: Metric, *labels: str) -> Values:
        """Returns the values of a histogram for these labels."""
        return self._values.setdefault(_key(metric, labels), Values())

    @contextmanager
    def showing(self, metric: Metric, labels: Sequence[str], source: Callable[[], float]) -> Iterator[None]:
        """Adds a source to a series while the block lasts: the value of a gauge, or the total so far of a counter."""
        shown = self._shown.setdefault(_key(metric, tuple(labels)), _Shown())
        shown.sources.append(source)
        try:
            yield
        finally:
            shown.sources.remove(source)

    def drain(self) -> list[Reading]:
        """Returns all that is new since the last drain."""
        readings = [self._reading(key, shown) for key, shown in self._shown.items()]
        for (metric, labels), count in self._counts.items():
            readings.append(Reading(metric, labels, [count.since] if count.since else []))
            count.since = 0
        readings += [Reading(metric, labels, values.drain()) for (metric, labels), values in self._values.items()]
        return [reading for reading in readings if reading.values]

    def _reading(self, key: _Key, shown: _Shown) -> Reading:
        metric, labels = key
        values = [source() for source in shown.sources]
        if metric.combined == "max":
            return Reading(metric, labels, [max(values)] if values else [])
        value = sum(values)
        if metric.kind == "gauge":
            return Reading(metric, labels, [value])
        new, shown.told = value - shown.told, value
        return Reading(metric, labels, [new] if new > 0 else [])


def _key(metric: Metric, labels: tuple[str, ...]) -> _Key:
    """Returns the key of a series. Errors: ValueError if these are not the metric's labels."""
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels}, not {labels}")
    return metric, labels
