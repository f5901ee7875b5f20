"""Checks that a failure in an author's code is recorded with its file, its line, and the lines that led to it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from playing import Alone, calls, play_script

import ray_gym
from ray_gym import Episode, Participant, Task, tool
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, code_place, describe, own_frames
from ray_gym.record.rows import row_of


def divide(number: int) -> float:
    return number / 0  # divides


class InScore(Alone):
    def score(self, state: Any, episode: Episode) -> Any:
        return divide(1)  # score


class InSetup(Alone):
    def setup(self, task: Task, episode: Episode) -> Any:
        return divide(2)  # setup


class InTool(Alone):
    @tool()
    def break_it(self, state: Any, caller: Participant) -> str:
        return str(divide(3))  # tool


class InLibrary(Alone):
    def score(self, state: Any, episode: Episode) -> Any:
        import json

        return json.loads("{")  # score


class InEffect(Alone):
    async def run(self, episode: Episode) -> None:
        async def make(key: str) -> float:
            return divide(4)  # effect

        await episode.effect("pay", make)


def line_of(mark: str, nth: int = 0) -> int:
    lines = Path(__file__).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}")][nth]


@pytest.mark.parametrize(
    ("environment", "where", "mark"),
    [
        (InScore, "InScore.score", "divides"),
        (InSetup, "InSetup.setup", "divides"),
        (InTool, "tool break_it", "divides"),
        (InEffect, "effect pay", "divides"),
    ],
)
async def test_the_place_is_in_the_record(environment: type[Alone], where: str, mark: str) -> None:
    game = await play_script(environment(), [calls("break_it"), "42"])
    row = row_of(game.played, "run", "env")
    assert row["failure"]["message"] == "ZeroDivisionError: division by zero"
    assert row["failure"]["where"] == f"{where} (test_places_of_failures.py:{line_of(mark)})"
    lines = row["traceback"].splitlines()
    assert (
        lines[-1] == f"episode/test_places_of_failures.py:{line_of('divides')} in divide: return number / 0  # divides"
    )
    assert len(lines) == 2 and "ray_gym" not in row["traceback"]


async def test_an_error_in_pythons_library_is_placed_at_the_authors_line() -> None:
    game = await play_script(InLibrary(), ["42"])
    assert game.played.failure is not None
    assert game.played.failure.where == f"InLibrary.score (test_places_of_failures.py:{line_of('score', 1)})"
    assert len(game.played.failure.traceback.splitlines()) == 1


async def test_an_episode_without_a_failure_has_no_traceback() -> None:
    game = await play_script(Alone(), ["42"])
    assert row_of(game.played, "run", "env")["traceback"] is None


async def fails(number: int) -> None:
    divide(number)


class InTaskGroup(Alone):
    async def run(self, episode: Episode) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails(5))
            group.create_task(fails(6))


class InTaskGroupOfTool(Alone):
    @tool()
    async def break_it(self, state: Any, caller: Participant) -> str:
        async with asyncio.TaskGroup() as group, asyncio.TaskGroup() as inner:
            inner.create_task(fails(7))
        return str(group)


class NoneFound(Alone):
    async def run(self, episode: Episode) -> None:
        next(number for number in [1] if number > 1)  # next


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Unspeakable(Alone):
    def score(self, state: Any, episode: Episode) -> Any:
        raise Unprintable  # unprintable


class LostInAGroup(Alone):
    async def run(self, episode: Episode) -> None:
        async def lose() -> None:
            raise EpisodeFailure(FailureKind.INFRA, "model", "lost")

        async with asyncio.TaskGroup() as group:
            group.create_task(lose())


@pytest.mark.parametrize(
    ("environment", "message", "mark"),
    [
        (
            InTaskGroup,
            "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions): "
            "ZeroDivisionError: division by zero; ZeroDivisionError: division by zero",
            "divides",
        ),
        (
            InTaskGroupOfTool,
            "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception): ZeroDivisionError: division by zero",
            "divides",
        ),
        (NoneFound, "RuntimeError: coroutine raised StopIteration", "next"),
        (Unspeakable, "Unprintable: (its __str__ raises ValueError)", "unprintable"),
    ],
)
async def test_errors_within_others_have_their_place(environment: type[Alone], message: str, mark: str) -> None:
    game = await play_script(environment(), [calls("break_it"), "42"])
    failure = game.played.failure
    assert failure is not None and failure.message == message
    assert failure.where.endswith(f"(test_places_of_failures.py:{line_of(mark)})")


async def test_a_lost_call_in_a_group_of_tasks_stays_what_it_is() -> None:
    game = await play_script(LostInAGroup(), ["42"])
    assert game.played.failure == Failure(FailureKind.INFRA, "model", "lost")


def test_many_errors_of_a_group_are_counted() -> None:
    group = ExceptionGroup("all", [ValueError(str(number)) for number in range(5)])
    assert describe(group) == (
        "ExceptionGroup: all (5 sub-exceptions): ValueError: 0; ValueError: 1; ValueError: 2; and 2 more"
    )


def frames_of(file: Path, module: str, source: str = "1 / 0\n") -> list[str]:
    """Returns the author's frames of an error in a module of this name whose file would be `file`."""
    found = ModuleType(module)
    try:
        exec(compile(source, str(file), "exec"), vars(found))
    except ZeroDivisionError as error:
        return [frame.filename for frame in own_frames(error) if frame.filename == str(file)]
    raise AssertionError


def test_an_installed_environment_is_an_authors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    uses, other = ModuleType("my_installed.shop"), ModuleType("other_installed")
    vars(uses)["Task"] = Task
    monkeypatch.setitem(sys.modules, "my_installed.shop", uses)
    monkeypatch.setitem(sys.modules, "other_installed", other)
    for folder in ("site-packages", "dist-packages"):
        assert frames_of(tmp_path / folder / "my_installed" / "prices.py", "my_installed.prices")
        assert not frames_of(tmp_path / folder / "other_installed.py", "other_installed")


def test_a_compiled_package_is_no_authors() -> None:
    with pytest.raises(ValueError, match="population") as raised:
        np.random.default_rng(0).choice(2, 3, replace=False)
    assert [Path(frame.filename).name for frame in own_frames(raised.value)] == ["test_places_of_failures.py"]


def test_a_folder_whose_name_begins_as_ours_is_an_authors() -> None:
    package = Path(ray_gym.__file__).parent
    assert frames_of(package.with_name("ray_gym_envs") / "x.py", "ray_gym_envs.x")
    assert not frames_of(package / "x.py", "ray_gym.x")
    assert frames_of(package / "envs" / "x.py", "ray_gym.envs.x")


def test_a_function_of_the_engines_is_no_place() -> None:
    assert code_place(divide).startswith(" (test_places_of_failures.py:")
    assert code_place(Alone.opening).startswith(" (playing.py:")
    assert code_place(ray_gym.Environment.opening) == code_place(Episode.effect) == code_place(len) == ""


def cause_of(number: int) -> str:
    try:
        return str(divide(number))
    except ZeroDivisionError as error:
        error.add_note("seen by nobody")
        raise RuntimeError("the tool failed") from error


def replace_it() -> str:
    try:
        return cause_of(5)
    except RuntimeError:
        return str({}["price"])  # in handling


def note_it() -> str:
    try:
        return str(divide(6))
    except ZeroDivisionError as error:
        error.add_note("of row 7")
        raise


def hide_it() -> str:
    try:
        return str(divide(7))
    except ZeroDivisionError:
        raise RuntimeError("no such price") from None


def time_out() -> str:
    async def wait() -> None:
        async with asyncio.timeout(0):
            await asyncio.sleep(60)

    asyncio.run(wait())
    return "never"


def note_much() -> str:
    error = ValueError("x")
    error.add_note("n" * 5000)
    error.add_note("two\nlines")
    raise error


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            lambda: cause_of(4),
            "RuntimeError: the tool failed (after ZeroDivisionError: division by zero (FILE:DIVIDES))",
        ),
        (replace_it, "KeyError: 'price' (after RuntimeError: the tool failed (FILE:"),
        (note_it, "ZeroDivisionError: division by zero; of row 7"),
        (hide_it, "RuntimeError: no such price"),
        (time_out, "TimeoutError"),
        (note_much, f"ValueError: x; {'n' * 300}...; two lines"),
        (
            lambda: json.loads("{"),
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
    ],
)
def test_causes_and_notes_are_told(function: Callable[[], str], told: str) -> None:
    """A library's own chain of exceptions, none of which is an author's, is left out."""
    try:
        function()
    except Exception as error:
        failure = Failure.of(error, "tool look")
    expected = told.replace("FILE", Path(__file__).name).replace("DIVIDES", str(line_of("divides")))
    assert failure.message == expected or (told.endswith(":") and failure.message.startswith(expected))


class Board:
    """Has methods with names of hooks, which are none."""

    def __call__(self) -> str:
        return str(divide(8))  # called

    def render(self) -> str:
        return str(divide(9))  # drawn


class OfABoard(Alone):
    def render(self, state: Any) -> Any:
        return None

    def score(self, state: Any, episode: Episode) -> Any:
        return Board().render()  # asks the board


class Calls(OfABoard):
    def score(self, state: Any, episode: Episode) -> Any:
        return Board()()  # calls the board


class Further(OfABoard):
    def score(self, state: Any, episode: Episode) -> Any:
        return super().score(state, episode)


@pytest.mark.parametrize("environment", [OfABoard, Calls, Further])
async def test_methods_of_other_objects_are_no_hooks(environment: type[Alone]) -> None:
    failure = (await play_script(environment(), ["42"])).played.failure
    assert (
        failure is not None
        and failure.where == f"{environment.__name__}.score ({Path(__file__).name}:{line_of('divides')})"
    )
