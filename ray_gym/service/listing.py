"""What a caller has, the newest first, page by page.

A cursor is the place after one of them, by when that was made: what comes, or is forgotten, meanwhile moves no place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

CURSOR = r"^[0-9]{1,17}-[0-9a-f]{32}$"


class Listed(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> float: ...


Item = TypeVar("Item", bound=Listed)


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    items: list[Item]
    next: str | None
    """The cursor of the next page; None if this is the last one."""


def newest(items: Iterable[Item], cursor: str | None, limit: int) -> Page[Item]:
    """`cursor`: one that an answer gave (it fits `CURSOR`), or None for the first page."""
    found = sorted(items, key=_place, reverse=True)
    if cursor is not None:
        microseconds, _, id = cursor.partition("-")
        found = [item for item in found if _place(item) < (int(microseconds), id)]
    shown = found[:limit]
    return Page(shown, _cursor(shown[-1]) if len(found) > limit else None)


def _place(item: Listed) -> tuple[int, str]:
    return int(item.created_at * 1e6), item.id


def _cursor(item: Listed) -> str:
    microseconds, id = _place(item)
    return f"{microseconds}-{id}"
