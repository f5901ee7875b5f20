"""Leaves behind where a worker's code was when it held the interpreter's lock for long, as a regular expression may that
tries all ways to match, or when it crashed the process. No thread of Python can tell that: `faulthandler` writes the
stacks from a thread, or a handler of signals, that needs no lock.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".stall"
"""Suffix of the file, beside the worker's journal, that gets the stacks."""
_FATAL = "Fatal Python error: "
"""Start of the line before the stack of a thread that crashed, as `faulthandler` writes it."""
_FRAME = re.compile(r'  File "([^"]+)", line (\d+) in (\S+)')
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PLAYS = ("/ray_gym/run/worker/", "/ray_gym/play/")
"""Parts of the paths in the stack of the thread that plays."""
_OURS = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True, slots=True)
class LastPlace:
    """Names the code of an author that a lost worker ran at its end."""

    place: str
    """`function (file:line)`."""
    crash: str | None = None
    """Kind of crash there (`Segmentation fault`); None if the code held the interpreter's lock."""


class StackFile:
    """Writes the stacks of all threads to a file if nobody calls `go_on` for `after_s` seconds, and the stack of a thread
    that crashes the process, or ends it by `os._exit`. There may be one of them in a process.
    """

    def __init__(self, path: Path, after_s: float) -> None:
        """Opens the file, and waits for a crash, or for the first `go_on`. Errors: OSError."""
        self._path = path
        self._after_s = after_s
        self._file = path.open("ab")
        self._file.truncate(0)
        self._told_crashes = faulthandler.is_enabled()
        faulthandler.enable(self._file, all_threads=False)

    def go_on(self) -> None:
        """Says that the process is not held up, from now on. What was written before is deleted."""
        if os.fstat(self._file.fileno()).st_size:
            self._file.truncate(0)
        faulthandler.dump_traceback_later(self._after_s, file=self._file)

    def write_exit(self) -> None:
        """Writes the stack of this thread, which is about to end the process."""
        os.write(self._file.fileno(), f"{_FATAL}os._exit\n".encode())
        faulthandler.dump_traceback(self._file, all_threads=False)

    def stop(self) -> None:
        """Stops waiting, and deletes the file. A crash is told to stderr again, if it was before."""
        faulthandler.cancel_dump_traceback_later()
        faulthandler.disable()
        if self._told_crashes:
            with contextlib.suppress(OSError, RuntimeError):  # stderr is no file
                faulthandler.enable(all_threads=False)
        self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def last_place(stacks: str) -> LastPlace | None:
    """Returns the innermost place of an author's code in the stacks that a `StackFile` wrote: of the thread that crashed,
    or else first of all of the thread that plays, since tools may run in others. Returns None if there is none. Python's
    own code, installed packages and ray_gym's are no author's.
    """
    _, fatal, crashed = stacks.rpartition(_FATAL)
    crash = crashed.partition("\n")[0].strip() if fatal else None
    threads = re.split(r"\n(?=(?:Current thread|Thread) 0x)", crashed if fatal else stacks)
    for thread in sorted(threads, key=lambda thread: not any(mark in thread for mark in _PLAYS)):
        for file, line, function in _FRAME.findall(thread):
            if not file.startswith((*_LIBRARIES, "<")) and not str(Path(file).resolve()).startswith(_OURS):
                return LastPlace(f"{function} ({Path(file).name}:{line})", crash)
    return None
