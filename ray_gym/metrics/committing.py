"""Records a driver's metrics of its run: episodes by state, episodes that were committed, and how stale their weights
were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

from ray_gym.metrics.recorder import Recorder
from ray_gym.metrics.table import (
    EPISODES,
    EPISODES_COMMITTED,
    STALENESS,
    STATES,
    WEIGHT_VERSION,
    WORKERS_LOST,
)


class EpisodeCounts(Protocol):
    """Gives the numbers of a run's episodes that wait for a worker, are being played, and await their commit."""

    @property
    def waiting(self) -> int: ...

    @property
    def in_flight(self) -> int: ...

    @property
    def awaiting_commit(self) -> int: ...


class CommittedEpisode(Protocol):
    """Describes an episode that was committed. `versions`: for each model, the oldest weight version that generated
    trainable tokens of the episode.
    """

    @property
    def status(self) -> str: ...

    @property
    def stop_reason(self) -> str: ...

    @property
    def versions(self) -> tuple[tuple[str, int], ...]: ...


class RunMetrics:
    """Records the metrics of one run, in its driver. Each has the name of the run's environment as a label."""

    def __init__(self, recorder: Recorder, environment: str) -> None:
        self._recorder = recorder
        self._environment = environment
        self._versions: dict[str, int] = {}
        self._shown = ExitStack()

    @contextmanager
    def showing(self, counts: EpisodeCounts) -> Iterator[None]:
        """Adds the run's numbers of episodes to the gauge of episodes by state while the block lasts. At its end, the
        gauges of weight versions are taken back, too.
        """
        sources = (lambda: counts.waiting, lambda: counts.in_flight, lambda: counts.awaiting_commit)
        with self._shown:
            for state, source in zip(STATES, sources, strict=True):
                self._shown.enter_context(self._recorder.showing(EPISODES, (self._environment, state), source))
            yield

    def tell_version(self, model: str, version: int) -> None:
        """Raises the weight version that is shown for a model; a lower one is ignored. `count_committed` calls it with
        the versions of committed episodes, too.
        """
        if model not in self._versions:
            labels = (self._environment, model)
            self._shown.enter_context(
                self._recorder.showing(WEIGHT_VERSION, labels, lambda: self._versions.get(model, 0))
            )
        self._versions[model] = max(version, self._versions.get(model, 0))

    def count_committed(self, episodes: Iterable[CommittedEpisode]) -> None:
        """Counts episodes that were committed. For each model of an episode, observes by how many weight versions its
        oldest trainable tokens were behind the newest version that is known.
        """
        for episode in episodes:
            self._recorder.count(EPISODES_COMMITTED, self._environment, episode.status, episode.stop_reason).since += 1
            for model, version in episode.versions:
                self.tell_version(model, version)
                behind = self._versions[model] - version
                self._recorder.values(STALENESS, self._environment, model).observe(behind)

    def count_lost_worker(self) -> None:
        """Counts a worker that ended although it was not told to."""
        self._recorder.count(WORKERS_LOST, self._environment).since += 1
