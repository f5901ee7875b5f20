"""Reads the curves that a trainer wrote beside a run: `curves.parquet`, a row a step, as `examples/grpo` writes it."""

from __future__ import annotations

import io
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from ray_gym.errors import UserError, describe
from ray_gym.run.directory.location import storage_at

FILE = "curves.parquet"
STEP = "step"
"""Column with the number of the step; without it, rows are counted from 1."""
MOST_STEPS = 5000
"""Most steps that are told; of more, evenly spaced ones are."""


@dataclass(frozen=True, slots=True)
class Training:
    """Holds the curves of a training."""

    file: str
    """Location of the file."""
    steps: list[int]
    curves: dict[str, list[float | None]]
    """Values at each step by the name of their column; None where there is none. Columns of numbers only."""


def training_at(*folders: str) -> Training | None:
    """Returns the curves in the first of these folders that has some; None without any. Errors: UserError for a file
    that can't be read.
    """
    for folder in folders:
        storage = storage_at(folder)
        try:
            if storage.exists(FILE):
                return _read(f"{folder}/{FILE}", storage.read(FILE))
        except OSError as error:
            raise UserError(f"{folder}/{FILE} can't be read: {error.strerror or error}") from None
    return None


def _read(location: str, content: bytes) -> Training:
    try:
        table = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{location}: these curves can't be read: {describe(error).splitlines()[0]}") from None
    every = range(0, table.num_rows, -(-table.num_rows // MOST_STEPS) or 1)
    table = table.take(pa.array(every, pa.int64()))
    numbers = [field.name for field in table.schema if _is_number(field.type)]
    has_steps = STEP in numbers and table.column(STEP).null_count == 0
    steps = table.column(STEP).to_pylist() if has_steps else [row + 1 for row in every]
    curves = {name: table.column(name).cast(pa.float64()).to_pylist() for name in numbers if name != STEP}
    return Training(location, [int(step) for step in steps], curves)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
