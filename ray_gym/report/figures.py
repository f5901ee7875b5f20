"""Tells the figures of a run: what `ray-gym stats` estimates, with intervals over tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import Said, amount, bounds, count, number, of, percent, plain, short
from ray_gym.report.plot import share_bar
from ray_gym.report.tables import cut, estimate, table
from ray_gym.statistics.describe import Description
from ray_gym.statistics.interval import Interval

MOST_ATTEMPTS = 8
"""Most numbers of attempts that are listed."""


def key_figures(described: Description, success: str) -> Markup:
    """Returns the few figures that stand above all. `success`: bound of the reward of a success, as in `>=1`."""
    cards = [
        _card("Mean reward", described.reward),
        _card(f"Success (reward {_compared(success)})", described.success, percent),
        _card("Failed", described.failures.failed, percent),
        _card("Groups without spread", described.spread.without, percent),
        _card("Generated tokens", _mean(described, "generated_tokens"), amount),
        _card("Turns", _mean(described, "turns"), amount),
    ]
    return element("dl", cards, class_="cards")


def figure_tables(described: Description, redacted: Callable[[str], str]) -> Iterator[Markup]:
    """Yields the tables of figures that have something to tell. `redacted`: makes names of tools fit to be shown."""
    if described.attempts:
        yield _attempts(described)
    if described.quantities:
        yield _quantities(described)
    if any(described.length_against_reward.values()):
        yield _correlations(described)
    if described.tools:
        yield _tools(described, redacted)


def shares_tables(described: Description) -> Iterator[Markup]:
    """Yields the tables of stop reasons and of failures, each share with its bar."""
    yield _shares("Stop reasons", "stopped by", described.stop_reasons)
    failures = described.failures
    if failures.kinds:
        yield _shares("Failures by kind", "whose fault", failures.kinds)


def _card(name: str, interval: Interval | None, said: Said = number) -> Markup:
    value = element("span", said(interval.value if interval else None), class_="value")
    there = interval is not None and interval.low is not None
    around: Content = bounds(interval, said) if there else "no interval"
    return element("div", element("dt", name), element("dd", value, element("span", around, class_="interval")))


def _mean(described: Description, name: str) -> Interval | None:
    found = described.quantities.get(name)
    return found.mean if found else None


def _compared(success: str) -> str:
    return success.replace(">=", "\N{GREATER-THAN OR EQUAL TO} ").replace("<=", "\N{LESS-THAN OR EQUAL TO} ")


def _attempts(described: Description) -> Markup:
    has_answers = any(one.majority is not None for one in described.attempts)
    columns = ["attempts", "tasks", "pass@k", "pass^k", "best of k", *(["majority@k"] if has_answers else [])]
    rows: list[list[Content]] = []
    listed = described.attempts
    if len(listed) > MOST_ATTEMPTS:
        listed = [*listed[: MOST_ATTEMPTS - 1], listed[-1]]
    for one in listed:
        row: list[Content] = [f"k = {one.k}", f"{one.tasks:,} of {one.tasks + one.left_out:,}"]
        row += [estimate(one.pass_at, percent), estimate(one.pass_hat, percent), estimate(one.best_of)]
        rows.append(row + ([estimate(one.majority, percent)] if has_answers else []))
    return table("Several attempts at a task", columns, rows)


def _quantities(described: Description) -> Markup:
    columns = ["of a completed episode", "mean", "median", "95th percentile", "most"]
    rows: list[list[Content]] = [
        [name.replace("_", " "), estimate(one.mean, amount), plain(one.median), plain(one.p95), plain(one.most)]
        for name, one in described.quantities.items()
    ]
    return table("Lengths and calls", columns, rows)


def _correlations(described: Description) -> Markup:
    rows: list[list[Content]] = [
        [name.replace("_", " "), estimate(one)] for name, one in described.length_against_reward.items() if one
    ]
    return table("Length against reward", ["length", "correlation r"], rows)


def _tools(described: Description, redacted: Callable[[str], str]) -> Markup:
    rows: list[list[Content]] = [
        [
            element("code", short(redacted(name))),
            count(tool.calls),
            count(tool.errors),
            estimate(tool.rate, percent),
            f"{tool.tasks_with_errors:,} of {tool.rate.tasks:,}",
        ]
        for name, tool in described.tools.items()
    ]
    columns = ["tool", "calls", "errors", "error rate", "tasks with errors"]
    return table("Tools", columns, cut(rows, len(columns)))


def _shares(name: str, title: str, shares: Mapping[str, Interval]) -> Markup:
    rows: list[list[Content]] = [
        [short(label), share_bar(found.value), percent(found.value), bounds(found, percent)]
        for label, found in shares.items()
    ]
    columns = [title, "", "share", "95% interval"]
    told = f"{name}, of {of(next(iter(shares.values())).episodes, 'episode')}" if shares else name
    return table(told, columns, cut(rows, len(columns)), texts=2)
