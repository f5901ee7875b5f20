"""A run on an object store is scored again there. S3 is moto's server (see s3_double)."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from recorded_runs import comparable, config_of, record, rewrite, rows_of, without_rewards
from s3_double import BUCKET, KEYS, serving

from ray_gym.errors import UserError
from ray_gym.rescoring.changes import Change
from ray_gym.rescoring.places import score_run
from ray_gym.rescoring.rescore import OpenModels
from ray_gym.run.directory.location import child_of, storage_at

pytestmark = [pytest.mark.runs]


def asks_nobody(change: Change, run_name: str) -> OpenModels:
    @contextmanager
    def opened() -> Any:
        raise AssertionError("a model was asked")
        yield {}

    return opened


def test_a_run_on_an_object_store_is_scored_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = asyncio.run(record(config_of(tmp_path, "blackjack", {})))
    recorded = rows_of(run)
    rewrite(run, without_rewards)
    for key, value in KEYS.items():
        monkeypatch.setenv(key, value)
    with serving(tmp_path / "moto.log") as address:
        folder = f"s3://{BUCKET}/scored?endpoint_override={address}&scheme=http"
        here, there = child_of(folder, "run"), child_of(folder, "again")
        storage = storage_at(here)
        for file in sorted(run.rglob("*")):
            if file.is_file():
                storage.write(str(file.relative_to(run)), file.read_bytes())
        made = score_run(here, there, [], asks_nobody)
        assert [comparable(row) for row in rows_of(made.location)] == [comparable(row) for row in recorded]
        with pytest.raises(UserError, match="is there already"):
            score_run(here, there, [], asks_nobody)
