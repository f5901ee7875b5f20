"""What a trainer gets: a finished group, as views of its file's rows."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from ray_gym.load import flat_samples
from ray_gym.run.storage import EPISODES, Storage
from ray_gym.stream.finished import Finished
from ray_gym.trajectory import SCHEMA

FILES_KEPT = 2
"""Of which rows are in memory beside those that the trainer holds itself: groups of one file come one after another."""


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one task, all of them over."""

    number: int
    """The how-many-eth group of the stream it is, from 0."""
    group_id: str
    task_id: str
    version: int | None
    """The oldest weights that a trainable token of it came from; None where no tokens are known."""
    episodes: pa.Table
    """One row an episode (`ray_gym.trajectory.SCHEMA`), also those that failed; `samples` has those of the completed ones."""

    @property
    def samples(self) -> pa.Table:
        """One row a token sequence of a completed episode, with what a trainer groups and filters by (as `ray_gym.load(...).samples`)."""
        completed = pc.equal(self.episodes.column("status"), "completed")
        if pc.all(completed).as_py():  # then nothing is copied
            return flat_samples(self.episodes)
        return flat_samples(self.episodes.filter(completed))


class Files:
    """Reads groups out of committed files. Blocks."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        is_local = isinstance(storage.filesystem, LocalFileSystem)
        self._filesystem = LocalFileSystem(use_mmap=True) if is_local else storage.filesystem
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()

    def group(self, found: Finished) -> Group:
        """Errors: OSError."""
        rows = self._table(found.file).slice(found.start, found.rows)
        return Group(found.number, found.group_id, found.task_id, found.version, rows)

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables:
            path = self._storage.at(f"{EPISODES}/{name}")
            self._tables[name] = pq.read_table(path, filesystem=self._filesystem, schema=SCHEMA, partitioning=None)
            while len(self._tables) > FILES_KEPT:
                self._tables.popitem(last=False)
        return self._tables[name]
