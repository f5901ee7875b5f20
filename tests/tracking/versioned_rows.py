"""Makes rows of the record by hand, with versions of the weights."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ray_gym.record.schema import SCHEMA
from ray_gym.statistics.collect import Collected, collect

Row = dict[str, Any]


def row(task: str, reward: float, version: int | None = None, **columns: Any) -> Row:
    """Makes the row of an episode. `version`: that of the policy's weights; the user's are of version 0."""
    versions = {"policy": version, "user": 0} if version is not None else {}
    samples = [
        {"participant": name, "versions": [{"version": number, "start": 0, "end": 2}]}
        for name, number in versions.items()
    ]
    made = {"env_id": "made", "task_id": task, "group_id": task, "status": "completed", "stop_reason": "finished"}
    counts = {"generated_tokens": 10, "prompt_tokens": 100, "model_calls": 1, "tool_calls": 0, "tool_errors": 0}
    return {**made, "reward": reward, "turns": 2, "usage": counts, "events": [], "samples": samples, **columns}


def collected(rows: list[Row]) -> Collected:
    """Collects rows as if they were read from a file."""
    return collect(pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(3))
