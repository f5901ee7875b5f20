"""Checks that a location that is no run is told with the run that is probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.errors import UserError
from ray_gym.run.directory.directory import find_run
from ray_gym.run.directory.reading import open_run


def make_runs(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name / "episodes").mkdir(parents=True)
        (folder / name / "run.yaml").write_text("{}")
    return folder


def told(location: Path | str) -> str:
    with pytest.raises(UserError) as caught:
        open_run(location)
    with pytest.raises(UserError) as resumed:
        find_run(location)
    end = str(caught.value).partition("(it has no folder episodes/)")[2]
    assert str(resumed.value).endswith(f"(it has no run.yaml){end}")
    return end


def test_a_folder_of_runs_names_them(tmp_path: Path) -> None:
    runs = make_runs(tmp_path / "runs", "a", "b")
    (runs / "notes").mkdir()
    assert told(runs) == "; it is a folder of runs: give one of a, b"
    make_runs(runs, "c", "d", "e")
    assert told(f"{runs}/") == "; it is a folder of runs: give one of c, d, e, and 2 others"


def test_a_part_of_a_run_names_the_run(tmp_path: Path) -> None:
    run = make_runs(tmp_path, "x") / "x"
    for part in ("run.yaml", "episodes", "episodes/part-0.parquet"):
        assert told(run / part) == f"; it is a part of the run {run}"


def test_a_folder_without_runs_names_none(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert told(tmp_path / "deep") == ""


def test_a_misspelt_run_is_told_with_the_one_that_is_meant(tmp_path: Path) -> None:
    runs = make_runs(tmp_path / "runs", "first_run", "b")
    assert told(runs / "firstrun") == f"; nothing is there; did you mean {runs}/first_run?"
    assert told(tmp_path / "b") == f"; nothing is there; did you mean {runs}/b?"
    make_runs(tmp_path, "bb", "a")
    assert told(f"{tmp_path}/b/") == f"; nothing is there; did you mean {runs}/b?", "before one that is near"
    assert told(tmp_path / "bbb") == f"; nothing is there; did you mean {tmp_path}/bb?"
    assert told(f"{runs}/other/") == told(tmp_path / "no" / "where") == "; nothing is there"
