"""Records a worker's metrics: of the episodes that it plays, of its journal, and of its event loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from ray_gym.journal.journal import Journal
from ray_gym.metrics.playing import PlayMetrics, RecordedPlay
from ray_gym.metrics.pulse import Export, Pulse
from ray_gym.metrics.recorder import Recorder
from ray_gym.metrics.table import JOURNAL_SIZE, JOURNAL_UNSYNCED, JOURNAL_WRITTEN


class WorkerMetrics:
    """Records the metrics of one worker."""

    def __init__(self, environment: str, journal: Journal | None, export: Callable[[], Export] | None) -> None:
        """Creates the metrics, which are exported from `start` on.

        `journal`: the worker's journal; None if it has none, and no metrics of it. `export`: makes the function that
        takes the readings; None means that nothing is recorded.
        """
        self.play = PlayMetrics()
        self._pulse: Pulse | None = None
        self._shown = ExitStack()
        if export is not None:
            recorder = Recorder()
            self.play = RecordedPlay(recorder, environment)
            self._pulse = Pulse(recorder, "worker", export())
            if journal is not None:
                self._show(recorder, journal)

    def start(self) -> None:
        if self._pulse is not None:
            self._pulse.start()

    async def stop(self) -> None:
        if self._pulse is not None:
            await self._pulse.stop()
        self._shown.close()

    def _show(self, recorder: Recorder, journal: Journal) -> None:
        sources = {
            JOURNAL_WRITTEN: lambda: journal.appended,
            JOURNAL_UNSYNCED: lambda: journal.unsynced,
            JOURNAL_SIZE: lambda: journal.size,
        }
        for metric, source in sources.items():
            self._shown.enter_context(recorder.showing(metric, (), source))
