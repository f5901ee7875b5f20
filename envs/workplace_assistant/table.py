"""Defines a table whose rows all episodes share, beside the rows that an episode has changed. Rows never change: a
changed row is a new object, which belongs to the episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar


class TableRow(Protocol):
    """A row is a dataclass with an id."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def id(self) -> str:
        """Returns the id of the row."""


RowT = TypeVar("RowT", bound=TableRow)


class Table(Generic[RowT]):
    """A table shows the rows of `base`, except where the episode has rows of its own. `kind` is the first part of its
    ids: email-12.
    """

    __slots__ = ("_added", "_own", "base", "kind")

    def __init__(self, kind: str, base: Mapping[str, RowT]) -> None:
        self.kind = kind
        self.base = base
        self._own: dict[str, RowT | None] = {}  # None: a row of the base that was removed
        self._added = 0

    def __iter__(self) -> Iterator[RowT]:
        """Yields the rows of the base in its order, as they are now and without removed ones, then the added rows."""
        if not self._own:
            return iter(self.base.values())
        return (row for row in {**self.base, **self._own}.values() if row is not None)

    def get(self, row_id: str) -> RowT | None:
        """Returns the row with an id; None if there is none."""
        return self._own[row_id] if row_id in self._own else self.base.get(row_id)

    @property
    def next_id(self) -> str:
        """Returns the id for the next new row. No id is given twice, even if its row is removed."""
        return f"{self.kind}-{len(self.base) + self._added + 1}"

    def put(self, row: RowT) -> None:
        """Adds a row with the next id, or replaces the row with its id."""
        self._added += row.id == self.next_id
        self._own[row.id] = row

    def remove(self, row_id: str) -> None:
        """Removes the row with an id, if there is one."""
        if row_id in self.base:
            self._own[row_id] = None
        else:
            self._own.pop(row_id, None)

    @property
    def own(self) -> Mapping[str, RowT | None]:
        """Returns the rows that the episode has written, by id, with None for removed rows of the base. It is the
        table's own mapping, and no copy.
        """
        return self._own
