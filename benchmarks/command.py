"""Defines the parts that the commands of all benchmarks share: a heading, the file of `--json`, and types of options."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import machine


@dataclass(frozen=True, slots=True)
class Heading:
    """Describes the machine that figures were measured on, and the command that measured them."""

    machine: Mapping[str, Any]
    command: str

    def __str__(self) -> str:
        return f"machine: {', '.join(f'{name} {value}' for name, value in self.machine.items())}\ncommand: {self.command}\n"

    def write(self, path: Path | None, **numbers: Any) -> None:
        """Writes the machine, the command and `numbers` as JSON to `path`; nothing if it is None. NaN becomes None."""
        if path is not None:
            report = {"machine": self.machine, "command": self.command, **numbers}
            path.write_text(json.dumps(_without_nan(report), indent=2, allow_nan=False) + "\n")


def begin(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, **versions: str
) -> tuple[argparse.Namespace, Heading]:
    """Parses `arguments` (None: those of the command line) and prints the heading. Returns the options and the heading.

    `versions` of further packages are added to the heading. Wrong arguments end the command.
    """
    words = sys.argv[1:] if arguments is None else arguments
    given = parser.parse_args(words)
    heading = Heading({**machine(), **versions}, f"{parser.prog} {shlex.join(words)}".rstrip())
    print(heading, flush=True)
    return given, heading


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=_writable, metavar="FILE", help="write all numbers to this file as well")


def check_in_flight(parser: argparse.ArgumentParser, given: argparse.Namespace, *concurrency: int) -> None:
    """Ends the command with an error if it has fewer episodes, or more workers, than episodes are to be in flight.

    `concurrency`: number of episodes in flight of each case.
    """
    if given.episodes < (most := max(concurrency)):
        parser.error(f"--episodes {given.episodes}: {most} of them are to be in flight (--concurrency)")
    if (least := min(concurrency)) < given.workers:
        parser.error(f"--workers {given.workers}: each plays an episode at least, and {least} are in flight")


def positive(text: str) -> int:
    """Parses an option's value, a whole number of at least 1. Errors: ArgumentTypeError for any other text."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def not_negative(text: str) -> float:
    """Parses an option's value, a finite number of at least 0. Errors: ArgumentTypeError for any other text."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return number


def _writable(text: str) -> Path:
    """Parses a path, and checks that a file can be written there, before anything is measured.

    Errors: ArgumentTypeError if it can't.
    """
    path = Path(text)
    was_there = path.exists()
    try:
        path.open("a").close()
        if not was_there:
            path.unlink()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} can't be written: {error.strerror}") from None
    return path


def _without_nan(value: Any) -> Any:
    """Returns a copy of nested mappings and lists in which None stands for every NaN, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
