"""Collects the values of metrics in one process until they are exported: plain additions, in bounded memory.

It knows nothing of Ray.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ray_gym.metrics.table import Metric

MOST_HELD = 10_000
"""Largest number of values of one histogram series that are held between two drains. Newer values take the place of the
oldest.
"""
MOST_VALUES = 128
"""Largest number of values of a series that one drain returns, evenly spread over those that are held: Ray takes values
one by one, at 3 us each.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading holds what is new in one series: the increase of a counter, the present value of a gauge, or the values
    of a histogram since the last drain.
    """

    metric: Metric
    labels: tuple[str, ...]
    values: list[float]


@dataclass(slots=True)
class Count:
    """Holds the increase of a counter series since the last drain. Callers add to `since`."""

    since: float = 0


class Values:
    """Holds the values of a histogram series since the last drain. `observe` adds a value."""

    __slots__ = ("_kept", "observe")

    def __init__(self) -> None:
        self._kept: deque[float] = deque(maxlen=MOST_HELD)
        self.observe = self._kept.append

    def drain(self) -> list[float]:
        """Returns the values and forgets them. If there are more than `MOST_VALUES`, returns at most so many, evenly
        spread.
        """
        kept = list(self._kept)
        self._kept.clear()
        return kept[:: -(-len(kept) // MOST_VALUES) or 1]


@dataclass(slots=True)
class _Shown:
    """Holds the sources of one series, which are called when it is drained. Their values are combined."""

    sources: list[Callable[[], float]] = field(default_factory=list)
    told: float = 0


_Key = tuple[Metric, tuple[str, ...]]


class Recorder:
    """A recorder holds the metrics of one process.

    Callers keep the series that they have asked for, so that recording is an addition.
    """

    def __init__(self) -> None:
        self._counts: dict[_Key, Count] = {}
        self._values: dict[_Key, Values] = {}
        self._shown: dict[_Key, _Shown] = {}

    def count(self, metric: Metric, *labels: str) -> Count:
        """Returns the counter series for these labels, to whose field `since` callers add. The same labels give the
        same object. Errors: ValueError if their number is wrong.
        """
        return self._counts.setdefault(_key(metric, labels), Count())

    def values(self, metric: Metric, *labels: str) -> Values:
        """Returns the histogram series for these labels, to which callers add values with `observe`. The same labels
        give the same object. Errors: ValueError if their number is wrong.
        """
        return self._values.setdefault(_key(metric, labels), Values())

    @contextmanager
    def showing(self, metric: Metric, labels: Sequence[str], source: Callable[[], float]) -> Iterator[None]:
        """Adds a source to a series while the block lasts. The source returns the value of a gauge, or the total so far
        of a counter. Errors: ValueError if the number of labels is wrong.
        """
        shown = self._shown.setdefault(_key(metric, tuple(labels)), _Shown())
        shown.sources.append(source)
        try:
            yield
        finally:
            shown.sources.remove(source)

    def drain(self) -> list[Reading]:
        """Returns a reading of every series that has a new value: the increases of counters and the values of
        histograms since the last drain, and the present values of gauges.
        """
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
    """Returns the key of a series. Errors: ValueError if the metric has another number of labels."""
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels}, not {labels}")
    return metric, labels
