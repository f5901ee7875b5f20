"""Writes the curves of a training: `curves.parquet`, one row a step, and `curves.png` where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = Mapping[str, Any]
TABLE, PICTURE = "curves.parquet", "curves.png"
PANELS = (
    ("mean reward", ("reward",)),
    ("legal moves, share of messages", ("legal",)),
    ("length, tokens of the policy an episode", ("length",)),
    ("KL to the start, nats a token", ("kl",)),
    ("largest |ratio - 1| under a token's own weights", ("ratio_error", "ratio_error_fresh")),
    ("staleness, versions", ("staleness", "stalest")),
    ("generated tokens a second", ("tokens_per_s",)),
    ("share of the time that one waits for the other", ("trainer_waits", "engine_waits")),
)
"""Title and columns of each panel of the picture."""


def write_table(history: Sequence[Row], folder: Path) -> Path:
    """Writes the rows of all steps, whole or not at all, and returns the file."""
    path = folder / TABLE
    scratch = path.with_suffix(".new")
    pq.write_table(pa.Table.from_pylist([dict(row) for row in history]), scratch)
    scratch.replace(path)
    return path


def draw(history: Sequence[Row], evaluations: Mapping[int, float], folder: Path) -> Path | None:
    """Draws the curves and returns the file; None without matplotlib (`pip install ray-gym[train]`).

    `evaluations`: mean reward on the held-out tasks, by the number of steps before.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    figure = Figure(figsize=(12, 12), layout="constrained")
    steps = [row["step"] for row in history]
    for axes, (title, columns) in zip(figure.subplots(4, 2).flat, PANELS, strict=True):
        for column in columns:
            axes.plot(steps, [row[column] for row in history], label=column, linewidth=1)
        if columns == ("reward",):
            axes.plot(list(evaluations), list(evaluations.values()), "o", label="held out")
        if axes.get_legend_handles_labels()[0][1:]:
            axes.legend()
        if title.startswith("largest"):
            axes.set_yscale("log")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("step")
    path = folder / PICTURE
    scratch = path.with_name(f"new-{PICTURE}")
    figure.savefig(scratch, dpi=90)
    scratch.replace(path)
    return path
