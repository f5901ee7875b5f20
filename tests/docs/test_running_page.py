"""Carries out the commands of docs/running.md that need no model, in their order; plays a small run, shows and loads it."""

from __future__ import annotations

import sys
from itertools import takewhile
from pathlib import Path

import pytest
from conftest import REPOSITORY, ray_gym
from pages import block, commands

from ray_gym.cli import main

PAGE = REPOSITORY / "docs" / "running.md"
OF_THESE = ("envs", "check-env", "config", "configs", "dashboards", "data")
WITHOUT_A_MODEL = [
    list(takewhile(">".__ne__, arguments)) for arguments in commands(PAGE, "ray-gym") if arguments[0] in OF_THESE
]


def exit_code(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Carries the command line out in this process."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["ray-gym", *arguments])
        patch.setattr(sys, "path", list(sys.path))
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


@pytest.mark.docs
def test_commands_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(REPOSITORY / "configs")
    told: dict[str, str] = {}
    for arguments in WITHOUT_A_MODEL:
        code = exit_code(arguments, monkeypatch)
        shown = capsys.readouterr()
        told[" ".join(arguments[:2])] = shown.out
        assert code == 0, (arguments, shown.err)
    assert "workplace_assistant" in told["envs"] and "# 32 episodes" in told["config configs/tic_tac_toe.yaml"]
    assert "tic_tac_toe_scripted" in told["configs"] and told["config tic_tac_toe"].startswith("# A copy of the config")
    assert told["data validate"].startswith("tasks.jsonl: 1,000 rows, 1,000 good")
    assert {path.name for path in (tmp_path / "data/calendar").iterdir()} == {
        "train.parquet", "validation.parquet", "statistics.json",
    }  # fmt: skip


def test_a_wrong_key_exits_with_2_and_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml")
    assert exit_code(["config", config, "tasks.limitt=8"], monkeypatch) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line == "ray-gym: 'tasks.limitt=8': tasks.limitt: unknown key; did you mean 'limit'?"


@pytest.mark.ray
@pytest.mark.docs
def test_a_run_is_played_shown_and_loaded(
    cluster: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [played] = [line for line in commands(PAGE, "ray-gym") if line[-1] == "configs/tic_tac_toe_scripted.yaml"]
    small = ["tasks.limit=4", "tasks.repeats=2", f"output.dir={tmp_path / 'runs'}", "run.name=NAME"]
    done = ray_gym(*played, *small, environment=cluster)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"run.yaml", "summary.json", "episodes"} <= {path.name for path in (tmp_path / "runs/NAME").iterdir()}
    monkeypatch.chdir(tmp_path)

    names: dict[str, object] = {}
    code = block(PAGE, "python", "ray_gym.load")
    exec(code + "\nrows = run.episodes.to_pylist()\nshapes = (run.episodes.num_rows, run.samples.num_rows)", names)
    assert names["shapes"] == (8, 0), "scripted players have no tokens"
    rows = names["rows"]
    assert isinstance(rows, list)

    shown = [line for line in commands(PAGE, "ray-gym") if line[0] == "show"]
    assert len(shown) == 4
    for arguments in shown:
        given = [rows[0]["episode_id"][:8] if word == "569405f0" else word for word in arguments]
        assert exit_code(given, monkeypatch) == 0
        told = capsys.readouterr().out
        assert "--reward" in arguments or "--follow" in arguments or rows[0]["episode_id"][:8] in told
    listed, pruned = (line for line in commands(PAGE, "ray-gym") if line[0] == "runs")
    assert exit_code(listed, monkeypatch) == 0 and "finished" in capsys.readouterr().out
    assert exit_code(pruned, monkeypatch) == 0 and "0 runs" in capsys.readouterr().out
