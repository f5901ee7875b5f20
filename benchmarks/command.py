"""What benchmarks have in common as commands: they say what they run on, and how to run them again, and may write their numbers down."""

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
    """Without which figures say nothing."""

    machine: Mapping[str, Any]
    command: str

    def __str__(self) -> str:
        return f"machine: {', '.join(f'{name} {value}' for name, value in self.machine.items())}\ncommand: {self.command}\n"

    def write(self, path: Path | None, **numbers: Any) -> None:
        """With the numbers, to the file of `--json`, if there is one."""
        if path is not None:
            report = {"machine": self.machine, "command": self.command, **numbers}
            path.write_text(json.dumps(_without_nan(report), indent=2, allow_nan=False) + "\n")


def begin(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, **versions: str
) -> tuple[argparse.Namespace, Heading]:
    """What the command line gives (`arguments`, if they are not None, in its place), and the heading, which is printed. `versions` come on
    top of what every benchmark says of the machine."""
    words = sys.argv[1:] if arguments is None else arguments
    given = parser.parse_args(words)
    heading = Heading({**machine(), **versions}, f"{parser.prog} {shlex.join(words)}".rstrip())
    print(heading, flush=True)
    return given, heading


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=_writable, metavar="FILE", help="also write all numbers to this file")


def positive(text: str) -> int:
    """Of an option. Errors: ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def not_negative(text: str) -> float:
    """Of an option. Errors: ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return number


def _writable(text: str) -> Path:
    """Looked at before anything is measured. Errors: ArgumentTypeError."""
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
    """JSON has no NaN: what could not be measured is null."""
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
