"""Starts a program below a keeper: a process that adopts all that the program starts, and kills it when the program
has ended.

Processes whose parent died become children of the keeper (it is a subreaper), whatever sessions and groups they made.
A program that kills its keeper is killed with all its processes by the supervisor, whose children they are then.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36
NICE = 5
"""Priority that programs are lower than the worker and the supervisor, which have to end them in time."""
RESET = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ)
"""Signals that Python has a handler of its own for, or ignores."""


class Command:
    """Describes a program to start: its words, environment, folder, and limits of the kernel's own."""

    def __init__(self, words: list[str], env: dict[str, str], folder: str, limits: list[tuple[int, int]]) -> None:
        self.words = words
        self.env = env
        self.folder = folder
        self.limits = limits
        """Resources of `setrlimit`, each with its hard limit."""


def start(program: Command, streams: tuple[int, int, int]) -> tuple[int, int]:
    """Starts a program with its three standard streams, which this process has to close. Returns the PID of its keeper,
    and a descriptor with its report: lines `P pid` when it was started, `E errno` if it could not be, and `S code` when
    all is dead. Errors: OSError if no process can be started.
    """
    report, writer = os.pipe()
    try:
        keeper = os.fork()
    except OSError:
        os.close(report)
        os.close(writer)
        raise
    if keeper == 0:
        try:
            _keep(program, streams, writer)
        finally:
            os._exit(1)
    os.close(writer)
    os.set_blocking(report, False)
    return keeper, report


def _keep(program: Command, streams: tuple[int, int, int], writer: int) -> NoReturn:
    """Runs as the keeper."""
    _close_all_but({*streams, writer})
    os.setsid()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    keeper, pid = os.getpid(), os.fork()
    if pid == 0:
        try:
            _execute(program, streams, writer, keeper)
        except OSError as error:
            os.write(writer, b"E %d\n" % (error.errno or 0))
        finally:
            os._exit(127)
    os.write(writer, b"P %d\n" % pid)
    for stream in streams:
        os.close(stream)
    ended, status = 0, 0
    while ended != pid:
        ended, status = os.waitpid(-1, 0)
    kill_children()
    os.write(writer, b"S %d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _execute(program: Command, streams: tuple[int, int, int], writer: int, keeper: int) -> NoReturn:
    """Becomes the program. Errors: OSError if it can't be."""
    for number, stream in enumerate(streams):  # all of them are above 2
        os.dup2(stream, number)
    _close_all_but({0, 1, 2, writer})
    os.set_inheritable(writer, False)
    os.setsid()
    prctl(_PR_SET_DUMPABLE, 1)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(127)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")  # if the memory of the machine runs out, the kernel kills this before the worker
    for kind, most in program.limits:
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    os.nice(NICE)
    for number in RESET:
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    os.chdir(program.folder)
    os.execvpe(program.words[0], program.words, program.env)


def kill_children() -> None:
    """Kills all children of this process, and those that become its children by that, until there are none."""
    while True:
        children = children_of(os.getpid())
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        if not children:
            return
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def children_of(pid: int) -> list[int]:
    """Returns the children of a process, of all its threads; [] if it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as file:
                found.extend(map(int, file.read().split()))
    return found


def hide() -> None:
    """Keeps other processes of the same user from tracing this one and its children, and from reading their memory."""
    prctl(_PR_SET_DUMPABLE, 0)


def adopt() -> None:
    """Makes this process the parent of orphans below it."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def _close_all_but(kept: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):
                os.close(int(name))
