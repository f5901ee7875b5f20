"""How searches match, and what they show."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 10
"""Rows that a search shows; the rest are counted."""


class Query:
    """Words to look for; read once, however many rows are looked at."""

    def __init__(self, text: str) -> None:
        self._words = text.casefold().split()

    def matches(self, *texts: str) -> bool:
        """Whether every word is somewhere in the texts."""
        searched = "\n".join(texts).casefold()
        for word in self._words:  # noqa: SIM110 (a generator would cost more than all else here)
            if word not in searched:
                return False
        return True


def listing(rows: Iterable[object], *columns: str) -> dict[str, object]:
    """The first rows, with some of their columns."""
    found = list(rows)
    shown = [{column: getattr(row, column) for column in columns} for row in found[:SHOWN]]
    more = {"not_shown": len(found) - SHOWN} if len(found) > SHOWN else {}
    return {"found": shown, **more}
