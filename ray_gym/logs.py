"""Writes log lines with Python's `logging`: plain ones for people, or JSON. Each names its run, worker, episode and
attempt.

Code that logs while an episode is played (an environment's, too) need not name these: the context does.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ray_gym.config.interpolations import Interpolation, unfilled
from ray_gym.printable import printable

if TYPE_CHECKING:
    from ray_gym.config.sections import LogSection


_ABOUT: ContextVar[Mapping[str, Any]] = ContextVar("about")


@contextmanager
def about(**ids: Any) -> Iterator[None]:
    """Adds ids (run, episode, attempt) to all log lines inside the block, and in tasks that are started there."""
    token = _ABOUT.set({**_ABOUT.get({}), **ids})
    try:
        yield
    finally:
        _ABOUT.reset(token)


def speak_of(**ids: Any) -> None:
    """Adds ids to all log lines from now on, until the current task ends."""
    _ABOUT.set({**_ABOUT.get({}), **ids})


class _About(logging.Formatter):
    def __init__(self, always: Mapping[str, Any]) -> None:
        super().__init__()
        self._always = dict(always)

    def about(self, record: logging.LogRecord) -> dict[str, Any]:
        """Returns the ids of a log line, and its figures (given by `extra={"data": {...}}`), by name."""
        return {**self._always, **_ABOUT.get({}), **getattr(record, "data", {})}


class PlainLines(_About):
    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%H:%M:%S", time.localtime(record.created))
        ids = " ".join(f"{name}={value}" for name, value in self.about(record).items())
        line = printable(f"{when} {record.levelname.lower()}: {record.getMessage()}{f' [{ids}]' if ids else ''}")
        return f"{line}\n{printable(self.formatException(record.exc_info))}" if record.exc_info else line


class JsonLines(_About):
    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self.about(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _Stderr(logging.Handler):
    """Writes to the present `sys.stderr`, since a progress bar puts itself in its place."""

    def __init__(self, filled_in: Sequence[Interpolation]) -> None:
        super().__init__()
        self._filled_in = filled_in

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(unfilled(self.format(record), self._filled_in), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def configure(section: LogSection, filled_in: Sequence[Interpolation] = (), **always: Any) -> None:
    """Sets the format and the level of this process's log lines (the level of those of ray_gym), and writes them to
    standard error.

    All lines carry the ids `always`, and show values of the config that are in `filled_in` as its file has them.
    """
    handler = _Stderr(filled_in)
    handler.setFormatter((JsonLines if section.format == "json" else PlainLines)(always))
    root = logging.getLogger()
    for before in [each for each in root.handlers if isinstance(each, _Stderr)]:
        root.removeHandler(before)
    root.addHandler(handler)
    logging.getLogger("ray_gym").setLevel(section.level.upper())


def last_words(logger: str, text: str, **ids: Any) -> None:
    """Writes a log line of level error with these ids, the last of a process that ends itself. It takes no lock, which
    a stuck thread may hold.
    """
    formatters = [handler.formatter for handler in logging.getLogger().handlers if isinstance(handler, _Stderr)]
    record = logging.LogRecord(logger, logging.ERROR, "", 0, text, (), None)
    record.__dict__["data"] = ids
    line = (formatters[0] if formatters and formatters[0] else PlainLines({})).format(record)
    os.write(2, f"{line}\n".encode())


def leave_out_of_ray() -> None:
    """Has Ray leave out its own paragraph about each process that died, which guesses at the reasons: a run says in a line
    which worker is lost, and why. gRPC leaves out what is no error: it tells in its own words of a cluster that ends
    while it is asked. It has to be called before Ray and gRPC are imported. A setting of the user's stays, and so does
    what GRPC_TRACE asks gRPC for, which is no error.
    """
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^A worker died or was killed while executing a task")
    if not os.environ.get("GRPC_TRACE"):
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def is_json() -> bool:
    """Says whether this process writes its log lines as JSON. If so, its commands write log lines and nothing else."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)
