"""Checks that configs of environments play with the small real model: briefly, but by the path of a user's run."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from environments import NAMES

from ray_gym.load import load

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.models]

SHORT = [
    "tasks.generate=1",
    "tasks.repeats=1",
    "fanout.workers=1",
    "participants.policy.sampling.max_tokens=16",
    "limits.max_turns=2",
    "limits.max_steps_per_turn=2",
]
PLAYED = {"calendar", "equivalence_judge", "mcqa", "session_counter"}
"""A few of them, since each takes a quarter of a minute here. Nothing plays the others with a real model."""
AT_ONCE = 2
CONFIGS = [f"configs/{name}.yaml" for name in NAMES if name in PLAYED]


@pytest.fixture(scope="module")
def played(
    model_cluster: dict[str, str], small_model_app: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    script, output = REPOSITORY / "tests" / "vllm_model" / "play_configs.py", tmp_path_factory.mktemp("configs")
    environment = {**model_cluster, "PYTHONPATH": str(REPOSITORY)}

    def play(configs: list[str]) -> list[dict[str, Any]]:
        command = [sys.executable, str(script), small_model_app, str(output), *configs, "--", *SHORT]
        done = subprocess.run(
            command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=280, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(AT_ONCE) as pool:  # most of a short run is waiting for processes to come up
        plays = list(pool.map(play, [CONFIGS[start::AT_ONCE] for start in range(AT_ONCE)]))
    return {line["config"]: line for lines in plays for line in lines}


@pytest.mark.parametrize("config", CONFIGS)
def test_a_config_of_each_environment_plays(played: dict[str, dict[str, Any]], config: str) -> None:
    line = played[config]
    assert "error" not in line, line
    rows: list[dict[str, Any]] = load(Path(line["run"])).episodes.to_pylist()
    assert len(rows) == 1
    for row in rows:
        # A small model fails as a judge or as a user now and then, which is theirs; nothing else may fail.
        assert row["failure"] is None or row["failure"]["kind"] in ("judge", "user"), row["failure"]
        assert [sample for sample in row["samples"] if sample["participant"] == "policy"]
