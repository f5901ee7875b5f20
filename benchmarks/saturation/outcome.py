"""Checks, in the rows of a run, that its episodes were played to their end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.measure import MeasurementFailed
from ray_gym.errors import FailureKind
from ray_gym.run.directory.storage import EPISODES
from ray_gym.stop import StopReason

MOST_FAILED = 0.02
"""Largest share of episodes that may fail because their user repeated itself until it was cut. Their calls are counted
like all others."""
MOST_CUT = 0.05
"""Largest share of episodes in which a participant's message was cut by a limit, which ends the episode early."""
CUT = (StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL)
"""Stop reasons of an episode whose policy was cut."""


def require_completed(run: Path, episodes: int) -> None:
    """Checks that a run has a row for each of `episodes` episodes, and that they were played to their end.

    Errors: MeasurementFailed if rows are missing, if an episode failed by a fault that is not its user's, or if too
    many were cut.
    """
    rows = pq.read_table(run / EPISODES, columns=["status", "stop_reason", "failure"]).to_pylist()
    failures = [row["failure"] for row in rows if row["status"] != "completed"]
    by_user = sum(failure["kind"] == FailureKind.USER for failure in failures)
    cut = by_user + sum(row["stop_reason"] in CUT for row in rows)
    too_many = by_user > MOST_FAILED * episodes or cut > MOST_CUT * episodes
    if len(rows) != episodes or by_user != len(failures) or too_many:
        why = Counter("{kind} in {where}: {message}".format_map(failure) for failure in failures)
        completed = len(rows) - len(failures)
        raise MeasurementFailed(f"{completed} of {episodes} episodes were completed, {cut} cut; failures: {dict(why)}")
