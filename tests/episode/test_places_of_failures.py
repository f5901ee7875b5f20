"""Checks that a failure in an author's code is recorded with its file, its line, and the lines that led to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playing import Alone, calls, play_script

from ray_gym import Episode, Participant, Task, tool
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
