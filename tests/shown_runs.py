"""Writes rows that were made by hand as files of a run, and damages them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.viewer.made_rows import episode, event, sample
from ray_gym.record.schema import as_table

__all__ = ["damage", "episode", "event", "sample", "write"]


def write(run: Path, *episodes: dict[str, Any], number: int = 1, rows_a_group: int = 1000) -> Path:
    """Writes episodes as a committed file of a run, and returns its path."""
    folder = run / "episodes"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"part-{number:08d}-a.parquet"
    pq.write_table(as_table(list(episodes)), file, row_group_size=rows_a_group)
    return file


def damage(file: Path, row_group: int) -> None:
    """Overwrites the columns of a file's row group."""
    found = pq.read_metadata(file).row_group(row_group)
    columns = [found.column(number) for number in range(found.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    size = sum(column.total_compressed_size for column in columns)
    data = bytearray(file.read_bytes())
    noise = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
    data[min(starts) : min(starts) + size] = noise.tobytes()
    file.write_bytes(bytes(data))
