"""Describes a validation report in lines for a person."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.data.validation import ValidationReport

MOST_ROWS = 20
"""Number of bad rows, and of groups of equal rows, that are shown by default."""
LONGEST = 400
"""Number of characters of a problem that are shown."""


def report_lines(report: ValidationReport, show_all: bool = False) -> list[str]:
    """Returns the lines of a report: problems, counts, duplicates, remarks and lengths. `show_all` shows every bad row
    and group.
    """
    bad = f"{len(report.bad):,} bad" if report.bad else "none bad"
    return [
        *_problems(report, show_all),
        f"{report.file.path}: {report.rows:,} rows, {report.good:,} good, {bad}",
        *_duplicates(report, show_all),
        *_remarks(report),
        *_lengths(report),
    ]


def _problems(report: ValidationReport, show_all: bool) -> list[str]:
    numbers = list(report.bad)
    shown = numbers if show_all else numbers[:MOST_ROWS]
    place = f"{report.file.path}{' row ' if report.file.unit == 'row' else ':'}"
    lines = [f"{place}{number}: {_short(problem)}" for number in shown for problem in report.bad[number]]
    left = numbers[len(shown) :]
    if left:
        lines.append(
            f"... and {len(left):,} more bad rows (--all says what is wrong): {report.file.unit}s {ranges(left)}"
        )
    return lines


def _duplicates(report: ValidationReport, show_all: bool) -> list[str]:
    groups, unit = report.duplicates, report.file.unit
    if not groups:
        return ["duplicate contents: none"]
    shown = groups if show_all else groups[:MOST_ROWS]
    count = sum(map(len, groups))
    lines = [f"duplicate contents: {count:,} rows are {len(groups):,} different ones"]
    lines += [f"  the same: {unit}s {ranges(group)}" for group in shown]
    return lines + ([f"  ... and {len(groups) - len(shown):,} more groups"] if len(shown) < len(groups) else [])


def _remarks(report: ValidationReport) -> list[str]:
    return [f"passed over: {what}: lines {ranges(lines)}" for what, lines in report.file.remarks.items()]


def _lengths(report: ValidationReport) -> list[str]:
    spread, unit = report.spread, report.ruler.unit
    if spread is None:
        return [f"first prompt of the policy, in {unit}: not measured"]
    figures = f"min {spread.min:,}, median {spread.median:,}, p95 {spread.p95:,}, max {spread.max:,}"
    lines = [f"first prompt of the policy, in {unit}: {figures}"]
    missing = report.good - spread.count
    if missing:
        lines.append(
            f"  not measured: {missing:,} of {report.good:,}, which ask a model before the policy is shown anything"
        )
    if report.tools_length is not None:
        lines.append(f"  and its tools: {report.tools_length:,}")
    return lines


def ranges(numbers: Sequence[int]) -> str:
    """Returns increasing numbers as a text like `1, 3-5, 9`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)


def _short(problem: str) -> str:
    line = " ".join(problem.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
