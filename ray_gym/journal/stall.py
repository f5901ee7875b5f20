"""Leaves behind where a worker's code holds the interpreter's lock for long, as a regular expression may that tries all
ways to match. No thread of Python can watch that: `faulthandler` writes the stacks from a thread that needs no lock.
"""

from __future__ import annotations

import contextlib
import faulthandler
import re
import sysconfig
from pathlib import Path

SUFFIX = ".stall"
"""Suffix of the file, beside the worker's journal, that gets the stacks."""
_FRAME = re.compile(r'  File "([^"]+)", line (\d+) in (\S+)')
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PLAYS = ("/ray_gym/run/worker/", "/ray_gym/play/")
"""Parts of the paths in the stack of the thread that plays."""
_OURS = str(Path(__file__).resolve().parents[1])


class StallTrace:
    """Writes the stacks of all threads to a file if nobody calls `go_on` for `after_s` seconds. There may be one of them
    in a process.
    """

    def __init__(self, path: Path, after_s: float) -> None:
        """Opens the file, and waits for the first `go_on`. Errors: OSError."""
        self._path = path
        self._after_s = after_s
        self._file = path.open("wb")

    def go_on(self) -> None:
        """Says that the process is not held up, from now on."""
        faulthandler.dump_traceback_later(self._after_s, file=self._file)

    def stop(self) -> None:
        """Stops waiting, and deletes the file."""
        faulthandler.cancel_dump_traceback_later()
        self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def place_in(stacks: str) -> str | None:
    """Returns the innermost place of an author's code in the stacks that `faulthandler` wrote, as `function (file:line)`,
    first of all in the thread that plays, since tools may run in others; None if there is none. Python's own code,
    installed packages and ray_gym's are no author's.
    """
    threads = re.split(r"\n(?=(?:Current thread|Thread) 0x)", stacks)
    for thread in sorted(threads, key=lambda thread: not any(mark in thread for mark in _PLAYS)):
        for file, line, function in _FRAME.findall(thread):
            if not file.startswith((*_LIBRARIES, "<")) and not str(Path(file).resolve()).startswith(_OURS):
                return f"{function} ({Path(file).name}:{line})"
    return None
