"""Makes rows of the record by hand, for tests of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ray_gym.record.schema import SCHEMA
from ray_gym.statistics.collect import Collected, collect


def row(task: str, reward: float | None, repeat: int = 0, **columns: Any) -> dict[str, Any]:
    """Makes the row of an episode. Without a reward it failed, by the user's fault."""
    failed = reward is None
    tokens = columns.pop("tokens", 10)
    return {
        "episode_id": f"{task}-{repeat}",
        "env_id": "made",
        "task_id": task,
        "group_id": f"group of {task}",
        "repeat": repeat,
        "status": "failed" if failed else "completed",
        "stop_reason": "failed" if failed else "finished",
        "failure": {"kind": "user", "where": "user", "message": "it said nothing"} if failed else None,
        "reward": reward,
        "turns": 2,
        "usage": {"generated_tokens": tokens, "prompt_tokens": 100, "tool_calls": 0, "tool_errors": 0},
        "events": [],
        **columns,
    }


def rows_of(tasks: dict[str, Sequence[float | None]]) -> list[dict[str, Any]]:
    """Makes rows from the rewards of each task's episodes (None: it failed)."""
    return [row(task, reward, repeat) for task, rewards in tasks.items() for repeat, reward in enumerate(rewards)]


def collected(rows: list[dict[str, Any]], **options: Any) -> Collected:
    """Collects rows as if they were read from a file, in batches of three."""
    return collect(pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(3), **options)


def said(kind: str, participant: str = "policy", **fields: Any) -> dict[str, Any]:
    """Makes an event. `text`: its words; `calls`: ids and names of its tool calls."""
    text, calls = fields.pop("text", ""), fields.pop("calls", ())
    return {
        "kind": kind,
        "participant": participant,
        "thread": participant,
        "content": [{"type": "text", "text": text}] if text else [],
        "tool_calls": [{"id": call_id, "name": name, "arguments": "{}"} for call_id, name in calls],
        **fields,
    }
