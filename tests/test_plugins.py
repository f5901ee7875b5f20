"""Finding classes by name: the entry points of the project in the working directory, and what is said of those that aren't there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ray_gym.errors import UserError
from ray_gym.hosting.import_paths import import_paths
from ray_gym.load_object import load_object
from ray_gym.plugins import ENVIRONMENT, find_environment, names

ENTRY_POINTS = '[project.entry-points."ray_gym.environments"]\n'
MODULE = "from ray_gym import Environment\n\n\nclass Mine(Environment):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of an author, as the command line has it on its path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_project_that_is_not_installed(folder: Path) -> None:
    (folder / "mine_of_a_project.py").write_text(MODULE)
    (folder / "pyproject.toml").write_text(f'{ENTRY_POINTS}mine = "mine_of_a_project:Mine"\n')
    assert find_environment("mine").__name__ == "Mine"
    assert {"mine", "tic_tac_toe"} <= set(names(ENVIRONMENT))
    with pytest.raises(UserError, match="there is no environment 'min'; did you mean 'mine'"):
        find_environment("min")


@pytest.mark.parametrize("text", ["[tool.ruff]\n", "", '[project]\nname = "other"\n', ENTRY_POINTS.replace("env", "x")])
def test_projects_without_environments(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    assert "tic_tac_toe" in names(ENVIRONMENT)


@pytest.mark.parametrize(
    "text", ["[project\n", "project = 3\n", "[project.entry-points]\n'ray_gym.environments' = 3\n"]
)
def test_projects_that_are_broken(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(UserError, match=r"pyproject\.toml: can't read the entry points of this project: "):
        names(ENVIRONMENT)


def test_a_project_s_folder_in_the_place_of_its_package(folder: Path) -> None:
    (folder / "mine_and_mine" / "mine_and_mine").mkdir(parents=True)
    (folder / "mine_and_mine" / "mine_and_mine" / "__init__.py").write_text(MODULE)
    with pytest.raises(
        UserError, match=r"has no 'Mine', for it is a folder without __init__\.py \(.*mine_and_mine\): go"
    ):
        load_object("mine_and_mine:Mine", "environment.id")


def test_workers_get_no_relative_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have another working directory."""
    monkeypatch.setenv("PYTHONPATH", "src::/elsewhere:.")
    assert import_paths() == [str(folder), str(Path(__file__).parents[1]), str(folder / "src"), "/elsewhere"]
