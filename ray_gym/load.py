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
        files = sorted((self.path / "episodes").glob("*.parquet"))
        return (
            pa.concat_tables([pq.read_table(file, schema=SCHEMA) for file in files]) if files else SCHEMA.empty_table()
        )

    @cached_property
    def samples(self) -> pa.Table:
        """One row a sample: its columns, and those of its episode that a trainer groups and filters by."""
        table = self.episodes.combine_chunks()
        column = (
            table.column("samples").combine_chunks() if table.num_rows else pa.array([], SCHEMA.field("samples").type)
        )
        parents = pc.list_parent_indices(column)
        flat = column.flatten()
        fields = dict(zip((field.name for field in flat.type), flat.flatten(), strict=True))
        return pa.table({**{name: table.column(name).take(parents) for name in EPISODE_COLUMNS}, **fields})


def load(path: str | Path) -> Run:
    """Errors: UserError if `path` is no run directory."""
    directory = Path(path)
    if not (directory / "episodes").is_dir():
        raise UserError(f"{directory} is no run directory (it has no folder episodes/)")
    return Run(directory)
