"""Makes run directories without playing anything, for tests of what reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from ray_gym.config.sections import RunConfig
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.directory import PLAN, RunDirectory, create, plan_directory


def new_run(folder: Path, name: str, *rewards: float | None, planned: int = 4) -> RunDirectory:
    """Makes an open run, with an episode for each reward (None: it failed)."""
    rows = [
        {
            "episode_id": f"{name}-{number}",
            "attempt": 0,
            "status": "failed" if reward is None else "completed",
            "stop_reason": "finished",
            "stop_text": "",
            "turns": 1,
            "reward": reward,
        }
        for number, reward in enumerate(rewards)
    ]
    return run_of_rows(folder, name, rows, planned)


def run_of_rows(folder: Path, name: str, rows: list[dict[str, Any]], planned: int = 4) -> RunDirectory:
    """Makes an open run with these rows, whose missing columns are null."""
    config = RunConfig.model_validate(
        {
            "run": {"name": name},
            "environment": {"id": "tic_tac_toe"},
            "tasks": {"generate": 4},
            "models": {"small": {"engine": "scripted", "player": "a:b"}},
            "participants": {"policy": {"model": "small"}},
            "output": {"dir": str(folder)},
        }
    )
    directory = plan_directory(config, Path("mine.yaml"))
    create(directory)
    directory.write_config(config)
    (directory.path / PLAN).write_text(json.dumps({"environment": "a:B", "episodes": planned, "digest": ""}))
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    if rows:
        directory.commit(directory.storage.stage("part-0.parquet", table))
    return directory


def end(directory: RunDirectory, **summary: Any) -> None:
    """Writes the summary of a run, as of one that is finished with the episodes that are there, and closes it."""
    there = directory.storage.count()
    counts = {"episodes": there, "of": 4, "status": {"completed": there}}
    ended = {"interrupted": False, **counts, "mean_reward": 0.5, **summary}
    directory.write_summary(ended)
    directory.close()
