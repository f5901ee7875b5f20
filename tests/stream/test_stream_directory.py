"""Checks a stream's directory: it is made once and found again, and every cursor that is no place in it is refused with
the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.submit import resume
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.directory import Identity, open_directory, remove_before
from ray_gym.stream.outbox import DroppedGroups


def config_of(tmp_path: Path, **changes: Any) -> RunConfig:
    play = "lucky_questions"
    return RunConfig.model_validate(
        {
            "run": {"name": "s"},
            "environment": {"id": f"{play}:Ask"},
            "tasks": {"generate": 8},
            "models": {"toy": {"engine": f"{play}:VersionedEngine", "weights": "w"}},
            "participants": {"policy": {"model": "toy"}},
            "output": {"dir": str(tmp_path)},
            **changes,
        }
    )


def commit(directory: RunDirectory, count: int) -> None:
    for number in range(count):
        directory.commit(directory.storage.stage(f"part-0-{number}.parquet", SCHEMA.empty_table()))


@pytest.fixture
def made(tmp_path: Path) -> tuple[Identity, Cursor]:
    """Makes a stream's directory with two commits."""
    directory, identity, cursor = open_directory(config_of(tmp_path), "tasks", None)
    commit(directory, 2)
    directory.close()
    return identity, cursor


def test_it_is_found_again(tmp_path: Path, made: tuple[Identity, Cursor]) -> None:
    identity, cursor = made
    for saved in (None, cursor, Cursor(stream=identity.id, commit=2, next=3)):
        directory, found, place = open_directory(config_of(tmp_path, fanout={"workers": 7}), "tasks", saved)
        assert found == identity and place == (saved or cursor)
        directory.close()


@pytest.mark.parametrize(
    ("saved", "told"),
    [
        (lambda id: Cursor(stream="another"), r"cursor\.stream: 'another', but the stream .* is '[0-9a-f]{16}'"),
        (lambda id: Cursor(stream=id, commit=3), r"cursor\.commit: 3, but .* has 2 commits: the cursor is ahead"),
    ],
)
def test_cursors_of_elsewhere(
    tmp_path: Path, made: tuple[Identity, Cursor], saved: Callable[[str], Cursor], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        open_directory(config_of(tmp_path), "tasks", saved(made[0].id))
    open_directory(config_of(tmp_path), "tasks", None)[0].close()


def test_a_cursor_without_its_directory(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cursor: it was saved with a stream that is not at"):
        open_directory(config_of(tmp_path), "tasks", Cursor(stream="s", next=4))
    assert not (tmp_path / "s").exists()


def test_another_config_or_other_tasks(tmp_path: Path, made: tuple[Identity, Cursor]) -> None:
    with pytest.raises(UserError, match=r"tasks\.repeats: 1 -> 4"):
        open_directory(config_of(tmp_path, tasks={"generate": 8, "repeats": 4}), "tasks", None)
    with pytest.raises(UserError, match=r"tasks: the stream .* began with others"):
        open_directory(config_of(tmp_path), "other tasks", None)


def test_no_rollout_is_played_into_a_stream(tmp_path: Path, made: tuple[Identity, Cursor]) -> None:
    with pytest.raises(UserError, match="is a stream: its trainer resumes it"):
        resume(str(tmp_path / "s"), [], Console(quiet=True))


def test_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "thesis.tex").write_text("all my work")
    with pytest.raises(UserError, match=r"something at .* that is no stream"):
        open_directory(config_of(tmp_path), "tasks", None)
    assert (tmp_path / "s" / "thesis.tex").exists()


@pytest.mark.parametrize("there", [["episodes"], ["episodes", "epoch", ".lock", "stream.json"]])
def test_one_whose_maker_was_killed_is_made_anew(tmp_path: Path, there: list[str]) -> None:
    (tmp_path / "s").mkdir()
    for name in there:
        (tmp_path / "s" / name).mkdir() if name == "episodes" else (tmp_path / "s" / name).touch()
    directory, identity, cursor = open_directory(config_of(tmp_path), "tasks", None)
    directory.close()
    assert cursor == Cursor(stream=identity.id)


def test_files_before_a_cursor_are_removed_but_for_the_newest(tmp_path: Path, made: tuple[Identity, Cursor]) -> None:
    directory, identity, _ = open_directory(config_of(tmp_path), "tasks", None)
    dropped = DroppedGroups(directory.storage)
    for number in (1, 9):
        directory.storage.write(f"dropped/{number}.json", b"{}")
    identity, count = remove_before(Cursor(stream=identity.id, commit=2, next=5), identity, directory, dropped)
    assert count == 1 and [path.name[:13] for path in (tmp_path / "s" / "episodes").iterdir()] == ["part-00000002"]
    assert dropped.numbers() == {9}
    assert remove_before(Cursor(stream=identity.id, commit=1, next=4), identity, directory, dropped) == (identity, 0)
    directory.close()
    for saved in (None, Cursor(stream=identity.id, commit=1, next=4)):
        with pytest.raises(UserError, match="files of groups before 5 were removed"):
            open_directory(config_of(tmp_path), "tasks", saved)
    directory, _, _ = open_directory(config_of(tmp_path), "tasks", Cursor(stream=identity.id, commit=2, next=5))
    commit(directory, 1)
    assert directory.order.last == 3, "numbers go on"
    directory.close()
