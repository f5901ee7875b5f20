"""Follows one program from its start until all its processes are dead and its output is read."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from . import keeper
from .capture import Capture
from .loop import Loop, Outlet, Timer, read_some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

GRACE_S = 1.0
"""Seconds between SIGTERM and SIGKILL, and between SIGKILL of a program and of its keeper."""
DRAIN_S = 1.0
"""Seconds for reading what was printed after all processes are dead."""


class Run:
    """A run is a program, its keeper, its three streams, and the reason for which it was ended, if it was."""

    def __init__(
        self,
        loop: Loop,
        captures: tuple[Capture, Capture],
        printed: Callable[[bytes], None],
        bury: Callable[[Callable[[], None]], None],
        done: Callable[[], None],
    ) -> None:
        """Prepares a run. `captures`: of the standard output and of the standard error. `printed` gets the beginning of the standard
        output as it comes. `bury` kills what a dead keeper left, and then calls what it is given. `done` is called
        once, at the end.
        """
        self._loop, self._captures, self._printed, self._bury, self._done = loop, captures, printed, bury, done
        self.keeper = self._program = self._report = 0
        self._told = bytearray()
        self._open: set[int] = set()
        self._timers: list[Timer] = []
        self._began = time.monotonic()
        self.stdin: Outlet | None = None
        self.exit_code: int | None = None
        self.error: int | None = None
        self.ended: str | None = None
        self.seconds = 0.0
        self.is_done = False

    def start(self, program: keeper.Command, deadline_s: float | None) -> None:
        """Starts the program. Errors: OSError if no process can be started."""
        pipes = [os.pipe() for _ in range(3)]
        (stdin, own_in), (own_out, stdout), (own_err, stderr) = pipes
        try:
            self.keeper, self._report = keeper.start(program, (stdin, stdout, stderr))
        except OSError:
            for each in (own_in, own_out, own_err):
                os.close(each)
            raise
        finally:
            for each in (stdin, stdout, stderr):
                os.close(each)
        self.stdin = Outlet(self._loop, own_in)
        self._read(own_out, self._captures[0], self._printed)
        self._read(own_err, self._captures[1], lambda _: None)
        self._open.add(self._report)
        self._loop.on_read(self._report, self._hear)
        if deadline_s is not None:
            self._timers.append(self._loop.later(deadline_s, lambda: self.end("deadline")))

    def end(self, reason: str, at_once: bool = False) -> None:
        """Ends the program and all its processes, for the first reason that is given: by SIGTERM to its process group,
        and after `GRACE_S` by SIGKILL, or by that at once.
        """
        if self.is_done:
            return
        self.ended = self.ended or reason
        if at_once:
            self.kill()
        else:
            self._signal(signal.SIGTERM)
            self._timers.append(self._loop.later(GRACE_S, self.kill))

    def kill(self) -> None:
        """Kills the program, whose keeper kills the others; and then the keeper, if it does not answer."""
        if not self.is_done:
            self._signal(signal.SIGKILL)
            self._timers.append(self._loop.later(GRACE_S, self._kill_keeper))

    def _kill_keeper(self) -> None:
        if self.exit_code is None and self._report in self._open:
            _kill(self.keeper, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if not self._program:
            _kill(self.keeper, signal.SIGKILL)
        elif self.exit_code is None:
            with contextlib.suppress(OSError):
                os.killpg(self._program, number)
            _kill(self._program, number)

    def _read(self, descriptor: int, capture: Capture, printed: Callable[[bytes], None]) -> None:
        os.set_blocking(descriptor, False)
        self._open.add(descriptor)

        def read() -> None:
            data = read_some(descriptor)
            if data:
                first = capture.add(data)
                if first:
                    printed(first)
            elif data is not None:
                self._close(descriptor)

        self._loop.on_read(descriptor, read)

    def _hear(self) -> None:
        """Reads what the keeper reports."""
        data = read_some(self._report)
        if data is None:
            return
        self._told += data
        *lines, rest = bytes(self._told).split(b"\n")
        self._told = bytearray(rest)
        for word, value in ((line[:1], int(line[2:])) for line in lines):
            if word == b"P":
                self._program = value
            elif word == b"E":
                self.error = value
            elif word == b"S":
                self.exit_code = value
        if data:
            return
        self._loop.on_read(self._report, None)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.keeper, 0)
        if self.exit_code is not None:
            self._all_dead()
        else:  # something killed the keeper before it had killed the others
            self.exit_code = -signal.SIGKILL
            self.ended = self.ended or "keeper"
            self._bury(self._all_dead)

    def _all_dead(self) -> None:
        if self.exit_code == -signal.SIGXFSZ:
            self.ended = self.ended or "disk"
        self.seconds = time.monotonic() - self._began
        self._timers.append(self._loop.later(DRAIN_S, self._close_all))
        self._close(self._report)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            self._loop.forget(descriptor)
            os.close(descriptor)
            if not self._open:
                self._finish()

    def _close_all(self) -> None:
        for descriptor in list(self._open):
            self._close(descriptor)

    def _finish(self) -> None:
        self.is_done = True
        for timer in self._timers:
            timer.cancel()
        if self.stdin is not None:
            self.stdin.close()
        self._done()


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)
