"""Writes a rollout of a service that has ended, with groups that can't be compressed."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.commit_order import name_when_committed
from ray_gym.run.directory.posix_storage import PosixStorage

RUN = "a" * 32
GROUPS, GROUP_BYTES = 40, 10**6


def large_rollout(service: Path, caller: str) -> None:
    run = PosixStorage.of(service / "rollouts" / RUN)
    run.create()
    staged = run.begin_epoch(1)
    for number in range(1, GROUPS + 1):
        row = failed_row(EpisodeSpec(f"e{number}", f"g{number}", "t", 0, 0, "{}"), "run", "env", "x")
        row["task"] = secrets.token_hex(GROUP_BYTES // 2)
        staged.stage("part-1-0-00000.parquet", as_table([row]))
        staged.publish("part-1-0-00000.parquet", name_when_committed(number, "part-1-0-00000.parquet"))
    made = {"caller": caller, "body": "x", "environment": "tic_tac_toe", "episodes": GROUPS, "created_at": 1.0}
    summary = {"status": {"failed": GROUPS}, "stop_reasons": {}, "mean_reward": None, "interrupted": False}
    run.write("request.json", json.dumps(made).encode())
    run.write("summary.json", json.dumps({**summary, "failure": None, "started_at": 1, "ended_at": 2}).encode())
