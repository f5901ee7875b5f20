"""Reads a run directory back: `ray_gym.load(run_dir).episodes` and `.samples`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ray_gym.errors import UserError
from ray_gym.trajectory import SCHEMA

EPISODE_COLUMNS = ("run_id", "episode_id", "group_id", "task_id", "env_id", "status", "stop_reason")
"""What `.samples` repeats of each sample's episode."""


@dataclass(frozen=True)
class Run:
    path: Path

    @cached_property
    def episodes(self) -> pa.Table:
        """One row an episode (`ray_gym.trajectory.SCHEMA`)."""
        tables = [pq.read_table(file, schema=SCHEMA) for file in self._files()]
        return pa.concat_tables(tables) if tables else SCHEMA.empty_table()

    @cached_property
    def samples(self) -> pa.Table:
        """One row a sample: its columns, and those of its episode that a trainer groups and filters by.

        Nothing is padded, and tokens are not copied after they were read: `token_ids`, `loss_mask` and `logprobs` are lists over one
        flat array a chunk (`column.chunk(i).values`, `.offsets`). Reads nothing of the file but these columns.
        """
        columns = [*EPISODE_COLUMNS, "samples"]
        batches = [
            _flat(batch)
            for file in self._files()
            for batch in pq.read_table(file, schema=SCHEMA, columns=columns).to_batches()
        ]
        return pa.Table.from_batches(batches or [_flat(pa.RecordBatch.from_pylist([], _subschema(columns)))])

    def _files(self) -> list[Path]:
        return sorted((self.path / "episodes").glob("*.parquet"))


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Episodes to samples. The samples' own columns are views of the episodes'."""
    nested = batch.column("samples")
    parents = pc.list_parent_indices(nested)
    flat = nested.flatten()
    fields = dict(zip((field.name for field in flat.type), flat.flatten(), strict=True))
    return pa.RecordBatch.from_pydict(
        {**{name: batch.column(name).take(parents) for name in EPISODE_COLUMNS}, **fields}
    )


def _subschema(columns: list[str]) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in columns])


def load(path: str | Path) -> Run:
    """Errors: UserError if `path` is no run directory."""
    directory = Path(path)
    if not (directory / "episodes").is_dir():
        raise UserError(f"{directory} is no run directory (it has no folder episodes/)")
    return Run(directory)
