"""Whether a run's episodes were played as they should be, by their rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.measure import MeasurementFailed
from ray_gym.errors import FailureKind
from ray_gym.run.storage import EPISODES

MOST_CUT = 0.02
"""Of the episodes: one whose user says the same over and over, and is cut, fails. What the engine was asked for it counts all the same."""


def require_completed(run: Path, episodes: int) -> None:
    """Errors: MeasurementFailed if an episode failed for another reason than what its user said, or too many for that."""
    rows = pq.read_table(run / EPISODES, columns=["status", "failure"]).to_pylist()
    failures = [row["failure"] for row in rows if row["status"] != "completed"]
    cut = sum(failure["kind"] == FailureKind.USER for failure in failures)
    if len(rows) != episodes or cut != len(failures) or cut > MOST_CUT * episodes:
        why = Counter("{kind} in {where}: {message}".format_map(failure) for failure in failures)
        completed = len(rows) - len(failures)
        raise MeasurementFailed(f"{completed} of {episodes} episodes were completed; failures: {dict(why)}")
