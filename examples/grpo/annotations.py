"""Writes what the trainer knows of each generated token beside the run (docs/record.md, "Annotations")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

FOLDER = "annotations"
SCHEMA = pa.schema(
    [
        ("episode_id", pa.dictionary(pa.int32(), pa.string())),
        ("sample", pa.int32()),
        ("position", pa.int32()),
        ("logprob", pa.float32()),
        ("entropy", pa.float32()),
        ("advantage", pa.float32()),
    ]
)


@dataclass(slots=True)
class Annotations:
    """Gathers the annotations of one step, pass by pass."""

    _rows: list[Tensor] = field(default_factory=list)
    _positions: list[Tensor] = field(default_factory=list)
    _values: list[Tensor] = field(default_factory=list)

    def add(self, row: Tensor, position: Tensor, logprob: Tensor, entropy: Tensor, advantage: Tensor) -> None:
        """Adds generated tokens. `row`: number of the sample in the batch's tensors. All have the shape [tokens]."""
        self._rows.append(row)
        self._positions.append(position)
        self._values.append(torch.stack([logprob.detach(), entropy.detach(), advantage]))

    def table(self, samples: pa.Table, rows: Sequence[int]) -> pa.Table:
        """Returns a table with a row for each token, in the order of samples and positions.

        `samples`: those of the batch (`group.samples`). `rows`: row of each tensor row in it (`Tensors.rows`).
        """
        row, position = torch.cat(self._rows), torch.cat(self._positions)
        order = torch.argsort(row * (int(position.max()) + 1) + position)
        of_episode = numbers_in_episodes(samples.column("episode_id").to_pylist())
        ids = pa.array([samples.column("episode_id")[each].as_py() for each in rows], pa.string())
        numbers = torch.tensor([of_episode[each] for each in rows], dtype=torch.int32)
        row, values = row[order], torch.cat(self._values, 1)[:, order]
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(row.to(torch.int32).numpy()), ids),
            pa.array(numbers[row].numpy()),
            pa.array(position[order].to(torch.int32).numpy()),
            *(pa.array(column.numpy()) for column in values),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA)


def numbers_in_episodes(episode_ids: Sequence[str]) -> list[int]:
    """Returns the number of each sample among those of its episode, from 0: its place in the record's `samples[]`."""
    seen: Counter[str] = Counter()
    numbers = []
    for episode_id in episode_ids:
        numbers.append(seen[episode_id])
        seen[episode_id] += 1
    return numbers


def write_annotations(table: pa.Table, run: str, step: int) -> Path:
    """Writes the annotations of a step, whole or not at all. A step that is done again replaces its file."""
    folder = Path(run) / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / f"step-{step:06d}.parquet"
    scratch = path.with_suffix(".new")
    pq.write_table(table, scratch)
    scratch.replace(path)
    return path
