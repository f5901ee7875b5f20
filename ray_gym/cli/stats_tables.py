"""Prints estimates for a person to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from ray_gym.cli.output import DataTable
from ray_gym.models.price import told_money
from ray_gym.printable import data, data_line

if TYPE_CHECKING:
    from ray_gym.cli.stats_reading import ReadRun
    from ray_gym.record.bounds import Bound
    from ray_gym.statistics.compare import Compared, Comparison
    from ray_gym.statistics.describe import Description
    from ray_gym.statistics.groups import Spread
    from ray_gym.statistics.interval import Interval
    from ray_gym.statistics.slices import Key, Slice

LISTED = 50
"""Most parts of a run that are listed."""
COMPARED = ("", "first", "second", "difference [95%]", "p", "p (Holm)", "least effect")


def print_description(
    console: Console, location: str, described: Description, remarks: Sequence[str], success: Bound
) -> None:
    """Prints what a run shows."""
    status = ", ".join(f"{count} {name}" for name, count in described.status.items())
    _line(console, f"{location}: {described.episodes} episodes of {described.tasks} tasks ({status})")
    _warn(console, [*remarks, *described.remarks])
    _print_rewards(console, described, success)
    _print_failures(console, described)
    _print_tools(console, described)
    _print_quantities(console, described)
    if described.cost is not None:
        _line(console, f"cost of all episodes: {told_money(described.cost)}")


def print_slices(console: Console, columns: Sequence[str], slices: Sequence[Slice]) -> None:
    """Prints the parts of a run, of which the first `LISTED` are listed."""
    table = DataTable(*columns, "episodes", "tasks", "mean reward", "success", "failed")
    for one in slices[:LISTED]:
        numbers = (told(one.reward), share(one.success), share(one.failed))
        table.add_data(*map(_value, one.key), one.episodes, one.tasks, *numbers)
    _print_table(console, table, len(slices))


def print_comparison(console: Console, runs: tuple[ReadRun, ReadRun], compared: Comparison, success: Bound) -> None:
    """Prints how a second run differs from a first one."""
    for name, run in zip(("first", "second"), runs, strict=True):
        _line(console, f"{name}: {run.location}, {len(run.collected)} episodes")
        _warn(console, run.remarks)
    alone = f"{compared.only_first} only in the first, {compared.only_second} only in the second"
    _line(
        console, f"{compared.common} tasks are in both and count once each ({alone}); a success has a reward {success}"
    )
    table = DataTable(*COMPARED)
    for name, one in compared.numbers.items():
        table.add_data(name, *_compared_cells(one))
    _print_table(console, table, 0)
    if flips := compared.flips:
        won = f"{flips.gained} tasks are a success in the second only, {flips.lost} in the first only"
        _line(console, f"{won}: p = {flips.p:.3g} (McNemar, exact)")
    _warn(console, _why_none(compared.numbers.values()))
    _line(console, "least effect: a true difference that this many tasks would have shown with a chance of 80%")


def print_compared_slices(
    console: Console, columns: Sequence[str], slices: Mapping[Key, Mapping[str, Compared]]
) -> None:
    """Prints the differences of the parts of two runs."""
    table = DataTable(*columns, *COMPARED)
    for key, numbers in list(slices.items())[:LISTED]:
        for name, one in numbers.items():
            table.add_data(*map(_value, key), name, *_compared_cells(one))
    _print_table(console, table, len(slices))


def told(interval: Interval | None) -> str:
    """Returns an estimate and its interval as text."""
    if interval is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{_number(interval.value)} (no interval)"
    return f"{_number(interval.value)} [{_number(interval.low)}, {_number(interval.high)}]"


def share(interval: Interval | None) -> str:
    """Returns a share and its interval as text, in per cent."""
    if interval is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{interval.value:.1%} (no interval)"
    return f"{interval.value:.1%} [{interval.low:.1%}, {interval.high:.1%}]"


def _print_rewards(console: Console, described: Description, success: Bound) -> None:
    if described.reward is None:
        return
    se = f", standard error {_number(described.reward.se)}" if described.reward.se is not None else ""
    _line(console, f"mean reward: {told(described.reward)}{se}, of {described.reward.episodes} completed episodes")
    _line(console, f"success (reward {success}): {share(described.success)}")
    if described.attempts:
        has_answers = any(one.majority is not None for one in described.attempts)
        table = DataTable("k", "tasks", "pass@k", "pass^k", "best of k", *(["majority@k"] if has_answers else []))
        for one in described.attempts:
            tasks = f"{one.tasks} of {one.tasks + one.left_out}"
            majority = [share(one.majority)] if has_answers else []
            table.add_data(one.k, tasks, share(one.pass_at), share(one.pass_hat), told(one.best_of), *majority)
        _print_table(console, table, 0)
    _line(console, _of_groups(described.spread))
    for name, found in described.length_against_reward.items():
        _line(console, f"{name.replace('_', ' ')} against reward: {_of_correlation(found)}")


def _of_groups(spread: Spread) -> str:
    if not spread.groups:
        return "groups: none has two completed episodes"
    alike = f"{share(spread.without)} without any spread"
    return f"groups: {spread.groups}, standard deviation of rewards within them {told(spread.deviation)}, {alike}"


def _of_correlation(found: Interval | None) -> str:
    if found is None:
        return "no correlation, as one of them does not vary"
    return f"r = {told(found)}" + (f": {found.why_none}" if found.why_none else "")


def _print_failures(console: Console, described: Description) -> None:
    failures = described.failures
    if failures.failed is not None:
        _line(console, f"failed: {share(failures.failed)} of {failures.played} played episodes; they have no reward")
        kinds = ", ".join(f"{kind} {share(found)}" for kind, found in failures.kinds.items())
        _line(console, f"  by whose fault: {kinds}" if kinds else "  nobody's")
        _line(console, f"  by the simulated user's or the judge's: {share(failures.simulators)}")
    reasons = ", ".join(f"{reason} {share(found)}" for reason, found in described.stop_reasons.items())
    _line(console, f"stopped by: {reasons}")


def _print_tools(console: Console, described: Description) -> None:
    if not described.tools:
        return
    table = DataTable("tool", "calls", "errors", "error rate", "tasks with errors")
    for name, tool in described.tools.items():
        table.add_data(
            name, tool.calls, tool.errors, share(tool.rate), f"{tool.tasks_with_errors} of {tool.rate.tasks}"
        )
    _print_table(console, table, 0)


def _print_quantities(console: Console, described: Description) -> None:
    if not described.quantities:
        return
    table = DataTable("of completed episodes", "mean", "median", "95th percentile", "most")
    for name, found in described.quantities.items():
        numbers = (found.median, found.p95, found.most)
        table.add_data(name.replace("_", " "), told(found.mean), *(_number(number) for number in numbers))
    _print_table(console, table, 0)


def _compared_cells(one: Compared) -> list[str]:
    change = one.difference
    p, adjusted = (_p(number) for number in (change.p, one.p_adjusted))
    least = "-" if change.least_effect is None else _number(change.least_effect)
    return [_number(one.first), _number(one.second), told(change.interval), p, adjusted, least]


def _why_none(compared: Iterable[Compared]) -> list[str]:
    reasons = {one.difference.interval.why_none for one in compared}
    return [f"no intervals: {reason}" for reason in sorted(reasons - {""})]


def _p(number: float | None) -> str:
    return "-" if number is None else "<0.0001" if number < 1e-4 else f"{number:.4f}"


def _number(number: float) -> str:
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:,.0f}"


def _value(value: str | int | None) -> str:
    return "" if value is None else str(value)


def _print_table(console: Console, table: DataTable, parts: int) -> None:
    console.print(table)
    if parts > LISTED:
        _line(console, f"... and {parts - LISTED} more (--json has all)")


def _warn(console: Console, remarks: Sequence[str]) -> None:
    for remark in remarks:
        console.print(f"[yellow]warning[/yellow]: {data_line(remark)}", highlight=False, soft_wrap=True)


def _line(console: Console, text: str) -> None:
    console.print(data(text), highlight=False, soft_wrap=True)
