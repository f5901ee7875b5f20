"""Whether a run's episodes were played as they should be, by their rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.measure import MeasurementFailed
from ray_gym.errors import FailureKind
from ray_gym.run.directory.storage import EPISODES
from ray_gym.stop import StopReason

MOST_FAILED = 0.02
"""Of the episodes: one whose user repeats itself until it is cut fails. What the engine was asked for it counts all the same."""
MOST_CUT = 0.05
"""Those, and those whose policy was cut, which ends them early."""
CUT = (StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL)
"""How one ends whose policy was cut; one whose user was is failed by its user."""


def require_completed(run: Path, episodes: int) -> None:
    """Errors: MeasurementFailed if an episode failed for another reason than what its user said, or too many were cut."""
    rows = pq.read_table(run / EPISODES, columns=["status", "stop_reason", "failure"]).to_pylist()
    failures = [row["failure"] for row in rows if row["status"] != "completed"]
    by_user = sum(failure["kind"] == FailureKind.USER for failure in failures)
    cut = by_user + sum(row["stop_reason"] in CUT for row in rows)
    if (
        len(rows) != episodes
        or by_user != len(failures)
        or by_user > MOST_FAILED * episodes
        or cut > MOST_CUT * episodes
    ):
        why = Counter("{kind} in {where}: {message}".format_map(failure) for failure in failures)
        completed = len(rows) - len(failures)
        raise MeasurementFailed(f"{completed} of {episodes} episodes were completed, {cut} cut; failures: {dict(why)}")
