"""A recorded run is scored by the small real model, as a judge under vLLM; its answers then score it once more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from conftest import ray_gym
from recorded_runs import comparable, config_of, record, rows_of

from ray_gym.check.casts import PERFECT

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.models]


def test_a_real_judge_scores_a_recorded_run(
    model_cluster: dict[str, str], small_model_app: str, tmp_path: Path
) -> None:
    run = asyncio.run(record(config_of(tmp_path, "equivalence_judge", {}), [PERFECT]))
    judge = ["models.real.engine=vllm", "models.real.model=smollm2-135m-instruct", f"models.real.app={small_model_app}"]
    shorter = ["participants.judge.model=real", "participants.judge.sampling.max_tokens=16"]
    told = ray_gym("score", run, "-o", tmp_path / "judged", *judge, *shorter, environment=model_cluster)
    assert told.returncode == 0, told.stderr
    assert "judges: 0 answers from the record," in told.stdout and " 0 asked now" not in told.stdout, told.stdout
    judged = rows_of(tmp_path / "judged")
    for row in judged:
        assert row["status"] == "completed" or row["failure"]["kind"] == "judge", row["failure"]
        asked = [sample for sample in row["samples"] if sample["participant"] == "judge"]
        assert asked and all(sample["token_ids"] and not sample["trainable"] for sample in asked)
    told = ray_gym("score", tmp_path / "judged", "-o", tmp_path / "again", environment=model_cluster)
    assert told.returncode == 0 and " 0 asked now" in told.stdout, told.stdout + told.stderr
    assert [comparable(row) for row in rows_of(tmp_path / "again")] == [comparable(row) for row in judged]
