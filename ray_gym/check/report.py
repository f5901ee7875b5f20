"""What the checks found, for a terminal: a line a check, and details only of what failed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from ray_gym.check.all_checks import Outcome


def print_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        console.print(f"{_mark(outcome)} [bold]{outcome.check.name:<12}[/] {outcome.check.question}", highlight=False)
        for finding in outcome.findings:
            lines = f"[red]{escape(finding.where)}[/]: {escape(finding.what)}\n[dim]to mend it:[/] {escape(finding.mend)}"
            console.print(Padding(lines, (0, 0, 0, 4)), highlight=False)


def _mark(outcome: Outcome) -> str:
    if outcome.waits_for:
        return f"[yellow]?[/] (mend {outcome.waits_for} first)"
    return "[red]x[/]" if outcome.failed else "[green]ok[/]"
