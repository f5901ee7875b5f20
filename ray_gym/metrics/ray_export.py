"""Exports readings as Ray's metrics, which Ray's agent on each node gives to Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from ray.util.metrics import Counter, Gauge, Histogram

from ray_gym.metrics.recorder import Reading
from ray_gym.metrics.table import PREFIX, Metric


class RayExport:
    """Gives readings to Ray, in a process that is connected to it. A process needs only one."""

    def __init__(self) -> None:
        self._made: dict[Metric, Counter | Gauge | Histogram] = {}

    def __call__(self, readings: Sequence[Reading]) -> None:
        for reading in readings:
            metric = self._made.get(reading.metric) or self._make(reading.metric)
            tags = dict(zip(reading.metric.labels, reading.labels, strict=True))
            for value in reading.values:
                _give(metric, value, tags)

    def _make(self, metric: Metric) -> Counter | Gauge | Histogram:
        name = metric.name.removeprefix(PREFIX)
        if metric.kind == "histogram":
            made = Histogram(name, metric.help, boundaries=list(metric.buckets), tag_keys=metric.labels)
        else:
            made = (Counter if metric.kind == "counter" else Gauge)(name, metric.help, tag_keys=metric.labels)
        self._made[metric] = made
        return made


def _give(metric: Counter | Gauge | Histogram, value: float, tags: dict[str, str]) -> None:
    if isinstance(metric, Histogram):
        metric.observe(value, tags)
    elif isinstance(metric, Gauge):
        metric.set(value, tags)
    else:
        metric.inc(value, tags)
