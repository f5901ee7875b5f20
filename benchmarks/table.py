"""Formats figures as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Formats lines with the same keys as a Markdown table; an empty text if there are no lines.

    Columns whose first value is no text are aligned to the right. Larger numbers get fewer decimals.
    """
    if not lines:
        return ""
    headings = list(lines[0])
    cells = [headings, *([cell(line[heading]) for heading in headings] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [not isinstance(lines[0][heading], str) for heading in headings]
    rule = ["-" * (width - 1) + ":" if is_right else "-" * width for width, is_right in zip(widths, right, strict=True)]
    return "\n".join(_line(row, widths, right) for row in [headings, rule, *cells[1:]])


def cell(value: Any) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = [c.rjust(w) if is_right else c.ljust(w) for c, w, is_right in zip(cells, widths, right, strict=True)]
    return f"| {' | '.join(placed)} |"
