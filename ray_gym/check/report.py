"""Prints the report of the checks: a line for each check, and the findings of those that failed."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding

from ray_gym.check.all_checks import CheckOutcome, CheckReport
from ray_gym.check.finding import Finding
from ray_gym.printable import data


def print_report(console: Console, report: CheckReport) -> None:
    """Prints the outcome of each check, its findings, and the notes."""
    for outcome in report.outcomes:
        waits = f" [yellow](mend {outcome.waits_for} first)[/]" if outcome.waits_for else ""
        line = f"{_mark(outcome)} [bold]{outcome.check.name:<12}[/] {outcome.check.question}{waits}"
        console.print(line, highlight=False)
        for finding in outcome.findings:
            _print_finding(console, finding)
    for note in report.notes:
        console.print(f"[dim]{data(note)}[/]", highlight=False)


def print_hang(console: Console, finding: Finding) -> None:
    """Prints the finding about an environment that holds up the event loop, so that nothing else could be checked."""
    console.print("[red]x [/] [bold]event loop[/]   it hangs; nothing else could be checked", highlight=False)
    _print_finding(console, finding)


def _print_finding(console: Console, finding: Finding) -> None:
    lines = f"[red]{data(finding.where)}[/]: {data(finding.what)}\n[dim]to mend it:[/] {data(finding.mend)}"
    console.print(Padding(lines, (0, 0, 0, 4), expand=False), highlight=False)


def _mark(outcome: CheckOutcome) -> str:
    if outcome.waits_for:
        return "[yellow]? [/]"
    return "[red]x [/]" if outcome.failed else "[green]ok[/]"
