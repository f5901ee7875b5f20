"""Reads the options of `ray-gym stats`, and the columns that it needs of a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ray_gym.cli.unfinished import planned_episodes
from ray_gym.errors import UserError
from ray_gym.graders import extract as extracts
from ray_gym.load import load
from ray_gym.run.directory.empty import no_episodes
from ray_gym.run.directory.intact import intact_rows
from ray_gym.statistics.collect import ANSWER_COLUMNS, COLUMNS, VERSION_COLUMNS, Collected, Extract, collect
from ray_gym.statistics.slices import columns_of

ROWS = 512
"""Most rows that are read at once."""
_NAMED: dict[str, Extract] = {
    "whole": extracts.whole,
    "last_boxed": extracts.last_boxed,
    "answer_line": extracts.answer_line,
}
_MADE: dict[str, Callable[[str], Extract]] = {"tag": extracts.tagged, "regex": extracts.by_regex}


@dataclass(frozen=True)
class ReadRun:
    """Holds what was read of a run."""

    location: str
    collected: Collected
    remarks: list[str]
    """Warnings that some of the run is missing."""


def read_run(location: str, extract: Extract | None = None, versions: bool = False) -> ReadRun:
    """Reads a run, but for what is damaged or of an unknown version. `extract`: finds answers in messages.
    `versions`: True to read the versions of the policy's weights too.

    Errors: UserError if it is no run, or has no episodes that can be read; OSError.
    """
    run, damages = load(location), list[str]()
    columns = [*COLUMNS, *(ANSWER_COLUMNS if extract is not None else ()), *(VERSION_COLUMNS if versions else ())]
    collected = collect(intact_rows(run.storage, columns, ROWS, damages), extract)
    if not len(collected):
        raise UserError(damages[0]) if damages else no_episodes(run)
    planned = planned_episodes(run)
    remarks = [f"left out: {told}" for told in damages]
    if planned is not None and len(collected) < planned:
        there = f"{location} has {len(collected)} of {planned} planned episodes"
        remarks.append(there if damages else f"{there}: short ones come first, so rewards and lengths may change")
    return ReadRun(location, collected, remarks)


def read_columns(text: str) -> list[str]:
    """Returns the columns of `--by`. Errors: UserError for an unknown one."""
    try:
        return columns_of(text)
    except ValueError as error:
        raise UserError(f"--by: {error}") from None


def read_attempts(text: str) -> list[int]:
    """Returns the numbers of `--attempts`, as in `1,4,16`. Errors: UserError if one is no whole number above 0."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise UserError(f"--attempts: {text!r} is no list of whole numbers above 0; write it as 1,4,16")
    return sorted({int(part) for part in parts})


def read_extract(text: str) -> Extract:
    """Returns the function of `--answers`. Errors: UserError for an unknown one, or a pattern that is none."""
    if text in _NAMED:
        return _NAMED[text]
    name, _, given = text.partition(":")
    if name not in _MADE or not given:
        raise UserError(f"--answers: {text!r} is none of {', '.join(_NAMED)}, tag:NAME and regex:PATTERN")
    try:
        return _MADE[name](given)
    except re.error as error:
        raise UserError(f"--answers: {given!r} is no regular expression: {error}") from None
