"""Reads a run directory back: its episodes, their samples and its summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ray_gym.errors import UserError
from ray_gym.record.schema import SCHEMA
from ray_gym.record.versions import read_summary
from ray_gym.run.directory.location import storage_at
from ray_gym.run.directory.nearby import is_run, nearby_runs
from ray_gym.run.directory.storage import SUMMARY, Storage

EPISODE_COLUMNS = ("run_id", "episode_id", "group_id", "task_id", "env_id", "status", "stop_reason")
"""Columns of an episode that `.samples` repeats for each of its samples."""
_OF_SAMPLES = [*EPISODE_COLUMNS, "samples"]


@dataclass(frozen=True)
class Run:
    """Reads what a run wrote, each part when it is asked for, and once."""

    storage: Storage

    @property
    def location(self) -> str:
        """Returns the run's path or URI."""
        return self.storage.location

    @cached_property
    def episodes(self) -> pa.Table:
        """Reads the episodes: one row for each (`ray_gym.record.schema.SCHEMA`), also of files that earlier versions
        wrote.

        Errors: UserError for a file of a later version.
        """
        tables = list(self.storage.tables())
        return pa.concat_tables(tables) if tables else SCHEMA.empty_table()

    @cached_property
    def samples(self) -> pa.Table:
        """Reads the samples: one row for each, with its columns, and those of its episode that a trainer groups and
        filters by.

        Nothing is padded, and tokens are not copied after they were read: `token_ids`, `loss_mask` and `logprobs` are
        lists over one flat array for each chunk (`column.chunk(i).values`, `.offsets`). Reads nothing of the file but
        these columns. Errors: UserError for a file of a later version.
        """
        tables = list(self.storage.tables(_OF_SAMPLES))
        return flat_samples(pa.concat_tables(tables) if tables else SCHEMA.empty_table())

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """Reads summary.json, also of earlier versions; None while the run has not ended.

        Errors: UserError if the file is damaged.
        """
        if not self.storage.exists(SUMMARY):
            return None
        try:
            return read_summary(self.storage.read(SUMMARY))
        except ValueError as error:
            raise UserError(f"{self.location}/{SUMMARY}: it is damaged ({error})") from None


def flat_samples(episodes: pa.Table) -> pa.Table:
    """Returns a table with a row for each sample of the episodes: its columns, and `EPISODE_COLUMNS` of its episode."""
    batches = episodes.select(_OF_SAMPLES).to_batches()
    empty = pa.RecordBatch.from_pylist([], pa.schema([SCHEMA.field(name) for name in _OF_SAMPLES]))
    return pa.Table.from_batches([_flat(batch) for batch in batches or [empty]])


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch of episodes as a batch with a row for each sample. The samples' own columns are views of the
    episodes'.
    """
    import pyarrow.compute as pc  # late, for what plays needs it not, and it takes 0.07 s

    nested = batch.column("samples")
    parents = pc.list_parent_indices(nested)
    flat = nested.flatten()
    fields = dict(zip((field.name for field in flat.type), flat.flatten(), strict=True))
    return pa.RecordBatch.from_pydict(
        {**{name: batch.column(name).take(parents) for name in EPISODE_COLUMNS}, **fields}
    )


def open_run(run: str | Path) -> Run:
    """Opens a run, of which nothing is read yet. `run` is a path or a URI (s3://...). Errors: UserError if it is no run
    directory, or can't be read.
    """
    storage = storage_at(str(run))
    try:
        there = is_run(storage)
    except OSError as error:
        raise UserError(f"{run} can't be read: {error.strerror or error}") from None
    if not there:
        raise UserError(f"{run} is no run directory (it has no folder episodes/){nearby_runs(str(run))}")
    return Run(storage)
