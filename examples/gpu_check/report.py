"""Writes the report in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.table import table
from examples.gpu_check.machine import Machine
from examples.gpu_check.running import Outcome

CPU = (
    "**CPU, not a GPU.** No GPU can be used here, so the checks ran on CPU, with fewer episodes. They show that the "
    "command works, and nothing about GPUs."
)
LONGEST = 400
"""Number of characters of a cell after which the rest is left out."""


def report(machine: Machine, outcomes: Sequence[Outcome]) -> str:
    """Returns the report on the checks of a machine."""
    parts = [f"# {title(machine, outcomes)}"]
    if not machine.gpus:
        parts.append(f"{CPU} {machine.unused}".rstrip())
    parts.append(table([{"machine": cell(name), "": cell(fact)} for name, fact in machine.facts.items()]))
    parts.append(table([line(outcome) for outcome in outcomes]))
    shown = (f"* `{one.check.name}`: {one.check.shows} `python -m {' '.join(one.check.command)}`" for one in outcomes)
    parts.append("\n".join(shown))
    parts += [failure(outcome) for outcome in outcomes if outcome.verdict == "FAILED"]
    return "\n\n".join(parts) + "\n"


def title(machine: Machine, outcomes: Sequence[Outcome]) -> str:
    """Returns the first line of the report: the hardware, and how many checks passed."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    counted = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in ("passed", "FAILED", "skipped") if counts[verdict]
    )
    gpus = len(machine.gpus)
    hardware = f"{gpus} GPU{'s' * (gpus > 1)}" if gpus else "CPU, not a GPU"
    return f"gpu-check of ray_gym, {hardware}: {counted}"


def line(outcome: Outcome) -> dict[str, str | int | None]:
    """Returns a check's line of the table."""
    is_skipped = outcome.verdict == "skipped"
    return {
        "check": outcome.check.name,
        "result": f"skipped: {outcome.figures}" if is_skipped else outcome.verdict,
        "figures": "" if is_skipped else cell(outcome.figures),
        "seconds": "" if outcome.seconds is None else f"{outcome.seconds:.0f}",
    }


def failure(outcome: Outcome) -> str:
    """Returns the section on a check that failed: the last lines of its output."""
    fence = "`" * 4
    return f"## {outcome.check.name}: last lines of its output\n\n{fence}text\n{outcome.output}\n{fence}"


def cell(text: str) -> str:
    """Returns a text as one cell of a table: without line breaks and bars, and not too long."""
    flat = " ".join(text.split()).replace("|", "/")
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]}..."
