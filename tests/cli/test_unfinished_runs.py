"""Checks that a run which lacks run.yaml or plan.json is told to be unfinished, too."""

from __future__ import annotations

from pathlib import Path

from shown_runs import episode, write

from ray_gym import load
from ray_gym.cli.unfinished import unfinished_line
from ray_gym.run.fingerprint import Fingerprint


def test_a_run_without_its_config_is_unfinished(tmp_path: Path) -> None:
    write(tmp_path, episode(0))
    (tmp_path / "plan.json").write_text(Fingerprint("m:E", 4, "0").as_json())
    told = unfinished_line(load(tmp_path), 1)
    assert (
        "is not finished" in told and "1 of 4 episodes; it has no run.yaml: put a copy of it there, and resume" in told
    )


def test_a_run_without_its_plan_is_unfinished(tmp_path: Path) -> None:
    write(tmp_path, episode(0))
    assert unfinished_line(load(tmp_path), 1) == ""
    (tmp_path / "run.yaml").write_text("a: 1")
    assert "has not ended[/]: 1 episodes, and neither summary.json nor plan.json" in unfinished_line(load(tmp_path), 1)
