"""How searches match, and what they show."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 10
"""Rows that a search shows; the rest are counted."""


def matches(query: str, *texts: str) -> bool:
    """Whether every word of the query is somewhere in the texts."""
    searched = "\n".join(texts).casefold()
    return all(word in searched for word in query.casefold().split())


def listing(rows: Iterable[object], *columns: str) -> dict[str, object]:
    """The first rows, with some of their columns."""
    found = list(rows)
    shown = [{column: getattr(row, column) for column in columns} for row in found[:SHOWN]]
    more = {"not_shown": len(found) - SHOWN} if len(found) > SHOWN else {}
    return {"found": shown, **more}
