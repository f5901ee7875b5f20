"""Searches rows for words, and shows the rows that were found."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 10
"""Number of rows that a search shows. Further ones are counted."""


class Query:
    """A query holds the words that a search looks for."""

    def __init__(self, text: str) -> None:
        self._words = text.casefold().split()

    def matches(self, *texts: str) -> bool:
        """Says whether every word is somewhere in the texts, also within another word, in any letter case."""
        searched = "\n".join(texts).casefold()
        for word in self._words:  # noqa: SIM110 (a generator would cost more than all else here)
            if word not in searched:
                return False
        return True


def listing(rows: Iterable[object], *columns: str) -> dict[str, object]:
    """Returns the first `SHOWN` rows with these columns (`found`) and, if there are more, the number of the others
    (`not_shown`).
    """
    found = list(rows)
    shown = [{column: getattr(row, column) for column in columns} for row in found[:SHOWN]]
    more = {"not_shown": len(found) - SHOWN} if len(found) > SHOWN else {}
    return {"found": shown, **more}
