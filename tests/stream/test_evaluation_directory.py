"""Checks the directory of a stream's evaluation."""

from __future__ import annotations

from pathlib import Path

from ray_gym.config.sections import RunConfig
from ray_gym.run.plan import make_plan
from ray_gym.stream.evaluation import _open_directory


def test_it_keeps_the_folder_of_the_config_where_score_finds_the_environment_s_module(tmp_path: Path) -> None:
    random = {"engine": "scripted", "player": "ray_gym.envs.tic_tac_toe.players:random_player"}
    config = RunConfig.model_validate(
        {
            "run": {"name": "evaluation"},
            "environment": {"id": "tic_tac_toe"},
            "tasks": {"generate": 2},
            "models": {"m": random},
            "participants": {"policy": {"model": "m"}, "user": {"model": "m"}},
            "output": {"dir": str(tmp_path / "runs")},
        }
    )
    file = tmp_path / "project" / "evaluation.yaml"
    plan = make_plan(config, file)
    for _ in ("made", "opened again"):
        directory = _open_directory(plan, file)
        began = directory.read_fingerprint()
        directory.close()
        assert began is not None and began.folder == str(file.parent)
