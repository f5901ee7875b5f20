"""Compares a data set that is about to be written with one that was prepared before."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_gym.data.parquet import plain_rows
from ray_gym.data.prepared import SPLITS, Prepared, Split
from ray_gym.errors import describe

Place = tuple[Split, dict[str, Any]]
"""Split of a row, and its fields."""


@dataclass
class Conflict:
    """Lists the differences between an earlier data set and a new one: ids of tasks, names of splits, and files that
    can't be read.
    """

    added: list[str] = field(default_factory=list)
    """Ids that only the new data set has."""
    removed: list[str] = field(default_factory=list)
    """Ids that only the earlier data set has."""
    changed: list[str] = field(default_factory=list)
    """Ids of tasks with other fields."""
    moved: list[str] = field(default_factory=list)
    """Ids of tasks in another split."""
    reordered: list[Split] = field(default_factory=list)
    """Splits whose rows are the same in another order. They are listed only if nothing else differs."""
    unreadable: list[str] = field(default_factory=list)
    """Files of the earlier data set that can't be read, with the reason."""

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def lines(self, most: int) -> list[str]:
        """Returns a line for each field that is not empty: its name, the number of its entries, and the first `most` of
        them.
        """
        return [
            f"{kind}: {len(names)} ({', '.join(names[:most])}{', ...' if len(names) > most else ''})"
            for kind, names in vars(self).items()
            if names
        ]


def conflict_with(directory: Path, prepared: Prepared) -> Conflict:
    """Compares prepared rows with the files in a directory, and returns the differences. They are empty if there are no
    files there, or files with the same rows in the same order.
    """
    conflict = Conflict()
    before: dict[Split, list[dict[str, Any]]] = {}
    for split in SPLITS:
        file = directory / f"{split}.parquet"
        if file.exists():
            try:
                before[split] = list(plain_rows(file))
            except Exception as error:
                conflict.unreadable.append(f"{file.name}: {describe(error)}")
    if before:
        _compare(conflict, before, prepared.rows)
    return conflict


def _compare(
    conflict: Conflict, before: dict[Split, list[dict[str, Any]]], after: dict[Split, list[dict[str, Any]]]
) -> None:
    old, new = _by_id(before), _by_id(after)
    conflict.added += [name for name in new if name not in old]
    conflict.removed += [name for name in old if name not in new]
    for name in old.keys() & new.keys():
        (old_split, old_row), (new_split, new_row) = old[name], new[name]
        if old_row != new_row:
            conflict.changed.append(name)
        elif old_split != new_split:
            conflict.moved.append(name)
    conflict.changed.sort()
    conflict.moved.sort()
    if not conflict:
        conflict.reordered += [split for split in SPLITS if before.get(split, []) != after[split]]


def _by_id(rows: dict[Split, list[dict[str, Any]]]) -> dict[str, Place]:
    return {
        str(row.get("task_id", f"{split} row {number}")): (split, row)
        for split in rows
        for number, row in enumerate(rows[split])
    }
