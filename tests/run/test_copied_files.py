"""Checks that copies of committed files, and hidden files beside them, are no rows of a run."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from shown_runs import episode, write
from typer.testing import CliRunner

import ray_gym
from ray_gym.cli.app import app
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import UserError
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.listing import listed
from ray_gym.run.directory.location import storage_at
from ray_gym.run.driver.carrying_out import load_commits

COPIES = ["copy.parquet", "part-00000001-a (copy).parquet", "part-00000001-a.sync-conflict-20260101.parquet"]


def shown(run: Path) -> str:
    return CliRunner().invoke(app, ["show", str(run), "--reward", ">=0"]).output


@pytest.mark.parametrize("name", [*COPIES, ".tmp.parquet", "._part-00000001-a.parquet"])
def test_an_episode_counts_once_beside_a_copy_or_a_hidden_file(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "run", episode(0), episode(1))
    write(tmp_path / "run", episode(2), number=2)
    if name.startswith("."):
        (file.parent / name).write_bytes(b"no rows")
    else:
        shutil.copy(file, file.parent / name)
    assert ray_gym.load(tmp_path / "run").episodes.num_rows == 3
    assert "3 of 3 episodes" in shown(tmp_path / "run")
    storage = storage_at(str(tmp_path / "run"))
    found = listed(storage.location, storage)
    assert (found.state, found.episodes) == ("unfinished", 3) and storage.count() == 3


def test_a_file_of_another_name_with_episodes_of_its_own_counts(tmp_path: Path) -> None:
    file = write(tmp_path / "run", episode(0))
    write(tmp_path / "run", episode(1), number=2).rename(file.with_name("more.parquet"))
    shutil.copy(file.with_name("more.parquet"), file.with_name("more (copy).parquet"))
    assert ray_gym.load(tmp_path / "run").episodes.num_rows == 2


def test_a_damaged_file_of_another_name_is_told(tmp_path: Path) -> None:
    file = write(tmp_path / "run", episode(0))
    file.with_name("copy.parquet").write_bytes(b"no rows")
    with pytest.raises(UserError, match=r"copy\.parquet: this file of rows is damaged"):
        _ = ray_gym.load(tmp_path / "run").episodes


def test_the_files_that_hold_an_episode_twice_are_told(tmp_path: Path) -> None:
    file = write(tmp_path / "run", episode(0), episode(1))
    shutil.copy(file, file.with_name("part-00000002-b.parquet"))
    plan: Any = SimpleNamespace(specs=[EpisodeSpec("e1", "g1", "t", 0, 0, "{}")])
    with pytest.raises(UserError) as caught:
        load_commits(plan, RunDirectory(storage_at(str(tmp_path / "run"))), lambda *_: None)
    told = str(caught.value)
    assert "part-00000002-b.parquet: it holds episodes that part-00000001-a.parquet has, too" in told
    assert "move it out" in told
