"""Prints what commands say. Nothing else in `ray_gym.cli` writes to the terminal, so nothing that comes from data can
command it, and nothing else gets into stdout, which other programs may read.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from functools import wraps
from types import TracebackType
from typing import Any, TextIO, TypeVar, cast

import typer
from rich.console import Console
from rich.pager import SystemPager
from rich.table import Table

from ray_gym.printable import data, data_line, printable

PIPE_WIDTH = 160
_FORMAT_WARNING = warnings.formatwarning
_stdouts: list[TextIO] = []
"""Stdout of the command that runs, while `sys.stdout` is what others print on; empty outside of commands."""
CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def keep_stdout(command: CommandT) -> CommandT:
    """Returns a command to whose stdout nothing gets but what it prints by this module. What others' code prints
    meanwhile (a module at its import, an environment's `generate`) goes to stderr.
    """

    @wraps(command)
    def kept(*args: Any, **kwargs: Any) -> Any:
        _stdouts.append(sys.stdout)
        try:
            with redirect_stdout(sys.stderr):
                return command(*args, **kwargs)
        finally:
            _stdouts.pop()

    return cast(CommandT, kept)


def _stdout() -> TextIO:
    return _stdouts[-1] if _stdouts else sys.stdout


class _OwnPager(SystemPager):
    """Shows pages on the command's stdout."""

    def show(self, content: str) -> None:
        with redirect_stdout(_stdout()):
            super().show(content)


def paged(console: Console) -> AbstractContextManager[object]:
    """Shows what is printed on a console in the block page by page."""
    return console.pager(_OwnPager(), styles=True)


def make_console() -> Console:
    """Returns a console on stdout. On a terminal, tables are cut to its width; in a pipe or a file they have
    `PIPE_WIDTH` columns. Data in what it prints is made safe by `ray_gym.printable.data`. It highlights nothing: rich's
    highlighter takes hours over a word of a million characters.
    """
    file = _stdout()
    return Console(file=file, emoji=False, highlight=False, width=None if file.isatty() else PIPE_WIDTH)


class DataTable(Table):
    """Represents a table whose heads and cells are data, which it makes safe to print."""

    def __init__(self, *columns: str) -> None:
        super().__init__(*map(data, columns), box=None, header_style="bold")

    def add_data(self, *cells: object) -> None:
        """Adds a row of data, each of whose cells is a line."""
        self.add_row(*(data_line(cell) for cell in cells))


def say(text: str, *, err: bool = False) -> None:
    """Prints lines of text on stdout, or on stderr if `err`, with control characters as escapes."""
    typer.echo(printable(text), file=None if err else _stdout(), err=err)


def write(content: str | bytes) -> None:
    """Writes content for a file or another program to stdout, as it is; texts are UTF-8 there, whatever the locale."""
    file = _stdout()
    if isinstance(content, str) and hasattr(file, "buffer"):
        content = content.encode()
    typer.echo(content, file=file, nl=False)


def prepare_stdout() -> None:
    """Has stdout write characters that its encoding lacks as escapes, as Python has stderr do. Gives it a buffer if it has
    none, as under `python -u`: without one, what a full disk takes only a part of is cut and no error is raised.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
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
