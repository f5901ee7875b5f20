"""Shows the progress of a run: by a panel on a terminal, by lines of text or of the log elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console, RenderableType
from rich.live import Live

from ray_gym.run.driver.panel import figures_of, panel_of
from ray_gym.run.driver.tally import Tally

logger = logging.getLogger(__name__)

LINE_EVERY_S = 10.0
"""Least seconds between two lines of progress."""


class Reporter:
    """Shows progress on a console: by a panel on a terminal, else by a line every `LINE_EVERY_S` seconds. It is a context
    manager around the run, and the driver calls it as its `notify`.
    """

    def __init__(self, console: Console, participants: Mapping[str, str]) -> None:
        """Takes the console, and the name of each participant's model by the participant's name."""
        self._console = console
        self._participants = participants
        self._live: Live | None = None
        self._known: tuple[Tally, int] | None = None
        """Tally and number of episodes in flight that were told last; the panel is drawn from them four times a second."""
        self._last_line = time.monotonic()

    def __enter__(self) -> Reporter:
        if self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, refresh_per_second=4, get_renderable=self._render)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, tally: Tally, in_flight: int) -> None:
        if self._live is not None:
            self._known = (tally, in_flight)
            self._live.start()
        elif time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
            self._console.print(f"episodes {tally.done}/{tally.total}, {figures_of(tally, in_flight)}", soft_wrap=True)

    def _render(self) -> RenderableType:
        return "" if self._known is None else panel_of(*self._known, self._participants)


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
