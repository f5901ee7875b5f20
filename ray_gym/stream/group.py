"""Reads finished groups for a trainer, as views of the rows of their files."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import LocalFileSystem

from ray_gym.load import flat_samples
from ray_gym.run.directory.commit_order import number_of as commit_of
from ray_gym.run.directory.parquet import open_rows
from ray_gym.run.directory.storage import EPISODES, Storage
from ray_gym.stream.source import number_of

_SAMPLES = "samples.list.element"


COLUMNS = [
    "group_id",
    "task_id",
    "status",
    f"{_SAMPLES}.trainable",
    f"{_SAMPLES}.versions.list.element.version",
]


@dataclass(frozen=True, slots=True)
class FinishedGroup:
    """Describes a group whose episodes are all over, and the place of its rows: `rows` of them in `file`, from `start`
    on.
    """

    number: int
    group_id: str
    task_id: str
    commit: int
    file: str
    start: int
    rows: int
    completed: int
    version: int | None
    """Oldest version of the weights that a trainable token of a completed episode came from; None without such tokens.
    """


def groups_of(storage: Storage, file: str) -> list[FinishedGroup]:
    """Returns the groups of a committed file.

    Blocks. Errors: OSError; ValueError for a file that is none of a stream's.
    """
    commit = commit_of(file)
    if commit is None:
        raise ValueError(f"{file} is no file of a stream's")
    with storage.open_committed(file) as opened:
        rows: list[dict[str, Any]] = opened.table(COLUMNS).to_pylist()
    found, start = [], 0
    for group_id, members in groupby(rows, key=lambda row: str(row["group_id"])):
        group = list(members)
        usable = [row for row in group if row["status"] == "completed"]
        versions = [version for row in usable for version in _versions(row)]
        found.append(
            FinishedGroup(
                number=number_of(group_id),
                group_id=group_id,
                task_id=group[0]["task_id"],
                commit=commit,
                file=file,
                start=start,
                rows=len(group),
                completed=len(usable),
                version=min(versions, default=None),
            )
        )
        start += len(group)
    return found


def _versions(row: dict[str, Any]) -> list[int]:
    return [span["version"] for sample in row["samples"] if sample["trainable"] for span in sample["versions"]]


FILES_KEPT = 2
"""Number of files whose rows stay in memory, since the groups of one file come one after another.

Rows that the trainer holds itself come on top.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """A group holds the episodes of one task, all of which are over."""

    number: int
    """Number of the group in its stream, from 0."""
    group_id: str
    task_id: str
    version: int | None
    """Oldest version of the weights that a trainable token of it came from; None without such tokens."""
    episodes: pa.Table
    """Table with one row an episode (`ray_gym.record.schema.SCHEMA`), also of those that failed."""

    @property
    def samples(self) -> pa.Table:
        """Returns a table with one row for each token sequence of a completed episode.

        It has the columns that a trainer groups and filters by, as `ray_gym.load(...).samples` has.
        """
        completed = pc.equal(self.episodes.column("status"), "completed")
        if pc.all(completed).as_py():  # then no rows are copied
            return flat_samples(self.episodes)
        return flat_samples(self.episodes.filter(completed))


class Files:
    """Reads groups out of committed files. Blocks."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        is_local = isinstance(storage.filesystem, LocalFileSystem)
        self._filesystem = LocalFileSystem(use_mmap=True) if is_local else storage.filesystem
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()

    def group(self, found: FinishedGroup) -> Group:
        """Reads a group. Errors: OSError."""
        rows = self._table(found.file).slice(found.start, found.rows)
        return Group(found.number, found.group_id, found.task_id, found.version, rows)

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables:
            with open_rows(self._filesystem, self._storage.at(f"{EPISODES}/{name}")) as file:
                self._tables[name] = file.table()
            while len(self._tables) > FILES_KEPT:
                self._tables.popitem(last=False)
        return self._tables[name]
