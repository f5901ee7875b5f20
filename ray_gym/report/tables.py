"""Makes tables of the page, which scroll by themselves where the page is narrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import Said, bounds, number
from ray_gym.statistics.interval import Interval

LISTED = 20
"""Most rows of a table whose rows are named by data."""


def table(name: str, columns: Sequence[str], rows: Iterable[Sequence[Content]], texts: int = 1) -> Markup:
    """Returns a table with a caption. The first `texts` columns are of texts, and the others of numbers."""
    head = [element("th", title, scope="col", class_=None if at < texts else "n") for at, title in enumerate(columns)]
    body = [element("tr", _cells(row, texts)) for row in rows]
    made = element("table", element("caption", name), element("thead", element("tr", head)), element("tbody", body))
    return element("div", made, class_="scroll", role="region", aria_label=name, tabindex=0)


def estimate(interval: Interval | None, said: Said = number) -> Markup:
    """Returns an estimate with its interval, as the content of a cell."""
    if interval is None:
        return element("span", "none", class_="quiet")
    around = element("span", bounds(interval, said), class_="interval")
    return element("span", said(interval.value), " ", around)


def cut(rows: Sequence[Sequence[Content]], columns: int) -> Iterable[Sequence[Content]]:
    """Yields at most LISTED rows, and one that says how many more there are."""
    yield from rows[:LISTED]
    if len(rows) > LISTED:
        yield [f"and {len(rows) - LISTED:,} more", *[""] * (columns - 1)]


def _cells(row: Sequence[Content], texts: int) -> list[Markup]:
    first, *others = row
    named = element("th", first, scope="row")
    return [named, *(element("td", one, class_=None if at < texts else "n") for at, one in enumerate(others, 1))]
