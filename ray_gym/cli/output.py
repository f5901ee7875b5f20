"""Prints what commands say. Nothing else in `ray_gym.cli` writes to the terminal, so nothing that comes from data can
command it.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
import warnings
from types import TracebackType

import typer
from rich.console import Console
from rich.table import Table

from ray_gym.printable import data, printable

PIPE_WIDTH = 160
_FORMAT_WARNING = warnings.formatwarning


def make_console() -> Console:
    """Returns a console on stdout. On a terminal, tables are cut to its width; in a pipe or a file they have
    `PIPE_WIDTH` columns. Data in what it prints is made safe by `ray_gym.printable.data`.
    """
    return Console(emoji=False) if sys.stdout.isatty() else Console(width=PIPE_WIDTH, emoji=False)


class DataTable(Table):
    """Represents a table whose heads and cells are data, which it makes safe to print."""

    def __init__(self, *columns: str) -> None:
        super().__init__(*map(data, columns), box=None, header_style="bold")

    def add_data(self, *cells: object) -> None:
        """Adds a row of data, each of whose cells is a line."""
        self.add_row(*(data(str(cell).replace("\n", "\\n")) for cell in cells))


def say(text: str, *, err: bool = False) -> None:
    """Prints lines of text on stdout, or on stderr if `err`, with control characters as escapes."""
    typer.echo(printable(text), err=err)


def write(content: str | bytes) -> None:
    """Writes content for a file or another program to stdout, as it is."""
    typer.echo(content, nl=False)


def write_stdout_wholly() -> None:
    """Gives stdout a buffer if it has none, as under `python -u`: without one, what a full disk takes only a part of is cut
    and no error is raised.
    """
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        buffered = open(sys.stdout.fileno(), "wb", closefd=False)  # noqa: SIM115
        sys.stdout = io.TextIOWrapper(buffered, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


def print_others_safely() -> None:
    """Has Python make safe what it prints of others' texts itself: tracebacks, warnings, and lines of the log before a run
    has set its form.
    """
    sys.excepthook = _print_traceback
    warnings.formatwarning = _warning_of
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_PrintableLines())


class _PrintableLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))


def _warning_of(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return printable(_FORMAT_WARNING(message, category, filename, lineno, line))


def drop_unwritten() -> None:
    """Drops what stdout can't take, which Python would try to write again at its end, with a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
