"""Draws a run that goes on for a terminal: how far it is, who plays, and how episodes end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ray_gym.printable import printable
from ray_gym.run.driver.tally import Tally

MOST_REASONS = 6
"""Most stop reasons that are named."""
MOST_FAILURES = 4
"""Most kinds of failures that are named."""
LONGEST_FAILURE = 100
"""Most characters of a failure."""


def panel_of(tally: Tally, in_flight: int, participants: Mapping[str, str]) -> RenderableType:
    """Returns the panel. `in_flight`: number of the episodes that are played now. `participants`: name of each one's
    model, by its own name.
    """
    head = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=max(tally.total, 1), completed=tally.done, width=30)
    head.add_row(bar, Text(f"{tally.done:,} of {tally.total:,} episodes"), Text(figures_of(tally, in_flight), "bold"))
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim")
    lines.add_column(overflow="fold")
    if participants:
        named = (f"{name}: {model}" for name, model in participants.items())
        lines.add_row("participants", Text(printable("   ".join(named))))
    if stops := _counts(tally.by_stop, MOST_REASONS):
        lines.add_row("stopped by", Text(stops))
    if (tally.rewarded or tally.by_status["failed"]) and tally.mean_reward is not None:
        lines.add_row("rewards", Text(f"mean {tally.mean_reward:.3f} of {tally.rewarded:,} completed episodes"))
    for failure, count in tally.failures.told().most_common(MOST_FAILURES):
        lines.add_row(Text("failed", "red"), Text(f"{count:,} {printable(failure)[:LONGEST_FAILURE]}"))
    return Group(head, lines)


def figures_of(tally: Tally, in_flight: int) -> str:
    """Returns what a run does now, in a line: episodes in flight, mean reward, tokens a second, and time left."""
    figures = [f"{in_flight} in flight"]
    if tally.mean_reward is not None:
        figures.append(f"reward {tally.mean_reward:.3f}")
    if tally.tokens:
        figures.append(f"{tally.tokens_per_s:,.0f} tok/s")
    if tally.remaining_s is not None:
        figures.append(f"{_duration(tally.remaining_s)} left")
    return ", ".join(figures)


def _counts(counts: Counter[str], most: int) -> str:
    """Returns the commonest of some counts in a line, and the sum of the others."""
    found = (+counts).most_common()
    told = [f"{printable(name)} {count:,}" for name, count in found[:most]]
    if others := sum(count for _, count in found[most:]):
        told.append(f"others {others:,}")
    return "   ".join(told)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
