"""Reads every command of the pages as its program does: it must exist, with the options that it is given."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import re
from pathlib import Path

import pytest
import typer
from conftest import REPOSITORY
from pages import PAGES, commands, mentions, name_of, parse
from typer._click.exceptions import MissingParameter, UsageError

from ray_gym.cli.app import app

GYM = typer.main.get_command(app)
TARGETS = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
pages = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pages
def test_commands_of_ray_gym_exist(page: Path) -> None:
    for arguments in commands(page, "ray-gym"):
        parse(GYM, arguments)
    for mentioned in mentions(page, "ray-gym"):
        arguments = list(itertools.takewhile(lambda word: not word.startswith("["), mentioned))
        if arguments[0].islower():  # `ray-gym COMMAND --help` speaks of any
            with contextlib.suppress(MissingParameter):
                parse(GYM, arguments)


@pages
def test_modules_that_are_run_exist(page: Path) -> None:
    for module, *_ in commands(page, "python -m") + mentions(page, "python -m"):
        assert importlib.util.find_spec(module) is not None, module


@pages
def test_targets_of_make_exist(page: Path) -> None:
    for arguments in commands(page, "make") + mentions(page, "make"):
        targets = [argument for argument in arguments if "=" not in argument]
        assert targets and set(targets) <= TARGETS, arguments


def test_the_reader_of_commands_finds_them() -> None:
    found = {name_of(page): len(commands(page, "ray-gym")) for page in PAGES}
    assert found["docs/running.md"] >= 15 and found["docs/data.md"] >= 3
    assert len(commands(REPOSITORY / "docs" / "running.md", "make")) >= 5
    with pytest.raises(UsageError):
        parse(GYM, ["rollout", "x.yaml", "--wayt"])
    with pytest.raises(UsageError):
        parse(GYM, ["data", "inspect", "tasks.jsonl"])
