"""Shows the progress of a run: by a bar on a terminal, by lines of text or of the log elsewhere."""

from __future__ import annotations

import logging
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ray_gym.run.driver.tally import Tally

logger = logging.getLogger(__name__)

LINE_EVERY_S = 10.0
"""Least seconds between two lines of progress."""


class Reporter:
    """Shows progress on a console: by a bar on a terminal, else by a line every `LINE_EVERY_S` seconds. It is a context
    manager around the run, and the driver calls it as its `notify`.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Reporter:
        if self._console.is_terminal:
            columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[figures]}"))
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task("episodes", total=None, figures="", start=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, tally: Tally, in_flight: int) -> None:
        if self._bar is not None:
            self._bar.start()
            self._bar.update(
                self._bar.task_ids[0], completed=tally.done, total=tally.total, figures=_figures(tally, in_flight)
            )
        elif time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
            self._console.print(f"episodes {tally.done}/{tally.total}, {_figures(tally, in_flight)}", soft_wrap=True)


class LoggedProgress:
    """Writes progress as lines of the log, for programs: one every `LINE_EVERY_S` seconds. It is a context manager
    around the run, and the driver calls it as its `notify`.
    """

    def __init__(self) -> None:
        self._last_line = time.monotonic()

    def __enter__(self) -> LoggedProgress:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __call__(self, tally: Tally, in_flight: int) -> None:
        if time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
            figures = {
                "episodes": tally.done,
                "of": tally.total,
                "in_flight": in_flight,
                "mean_reward": tally.mean_reward,
            }
            logger.info("progress", extra={"data": {**figures, "tokens_per_s": round(tally.tokens_per_s, 1)}})


def _figures(tally: Tally, in_flight: int) -> str:
    figures = [f"{in_flight} in flight"]
    if tally.mean_reward is not None:
        figures.append(f"reward {tally.mean_reward:.3f}")
    if tally.tokens:
        figures.append(f"{tally.tokens_per_s:,.0f} tok/s")
    if tally.remaining_s is not None:
        figures.append(f"{_duration(tally.remaining_s)} left")
    return ", ".join(figures)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
