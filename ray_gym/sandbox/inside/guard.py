"""Keeps a sandbox to its limits of memory, processes and disk, by looking at it ten times a second.

Of the programs that run, the one that takes most is ended first. If that does not help, or a limit is exceeded by far,
all are.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from . import watch
from .loop import Loop
from .run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .frames import Message

LOOK_S = 0.1
"""Seconds between two looks at the processes."""
SLOW_S = 1.0
"""Seconds between two looks at what takes longer: memory without a mapping, and the files of a folder."""
FILES_PER_MB = 256
"""Files and folders that a megabyte of the disk's limit allows: each takes memory of the kernel."""
BURY_S = 0.01
"""Seconds between two looks at processes that were killed."""
PATIENCE = 3
"""Looks at which a limit may be exceeded after the first program was ended."""
MOST_ROUNDS = 50
"""Times that processes are looked for which have to be stopped, where no call kills them all at one moment."""
FAR = 2.0
"""Ratio of what is taken to the limit, above which all programs are ended at once."""
SIZES: dict[str, Callable[[watch.Process], int]] = {
    "processes": lambda process: process.threads,
    "memory": lambda process: process.resident,
}
"""Measures of a process, by the limit that was exceeded."""


class Guard:
    """A guard looks at a sandbox as long as programs run in it."""

    def __init__(self, loop: Loop, runs: dict[int, Run], root: str, settings: Message) -> None:
        self._loop, self._runs, self._root = loop, runs, root
        self._memory: int = settings["memory"]
        self._processes: int = settings["processes"]
        self._disk: int = settings["disk"]
        self._is_sized: bool = settings["sized"]
        self._is_alone = os.getpid() == 1
        self._shared = 0
        self._slow_at = 0.0
        self._exceeded = 0
        self._is_looking = False
        self._kills = watch.memory_kills()

    def settle(self) -> None:
        """Begins to look, if it does not yet."""
        if not self._is_looking:
            self._is_looking = True
            self._loop.later(LOOK_S, self._look)

    def is_disk_full(self) -> bool:
        """Says whether nothing can be written any more, for a folder of its own size."""
        if not self._is_sized:
            return False
        room = os.statvfs(self._root)
        return room.f_bavail == 0 or room.f_favail == 0

    def has_memory_kill(self) -> bool:
        """Says whether the kernel has killed a process for its memory since the last call, before a look could end it."""
        before, self._kills = self._kills, watch.memory_kills()
        return self._kills > before

    def bury(self, done: Callable[[], None]) -> None:
        """Kills processes whose keeper is dead until there are none, and then calls `done`."""
        if self._kill_strays(watch.processes(watch.pids_of(self._is_alone))):
            self._loop.later(BURY_S, lambda: self.bury(done))
        else:
            done()

    def _look(self) -> None:
        pids = watch.pids_of(self._is_alone)
        if len(pids) - len(self._runs) > FAR * self._processes:
            self._end_all("processes")  # before more time is spent on them
            pids = watch.pids_of(self._is_alone)
        found = watch.processes(pids)
        has_strays = self._kill_strays(found)
        if self._runs:
            self._check(found)
        self._is_looking = bool(self._runs) or has_strays
        if self._is_looking:
            self._loop.later(LOOK_S, self._look)

    def _kill_strays(self, found: dict[int, watch.Process]) -> bool:
        """Kills processes that are children of this one, and no keepers: their keeper is dead. Returns True if there
        were any.
        """
        keepers = {run.keeper for run in self._runs.values()}
        strays = [each.pid for each in found.values() if each.parent == os.getpid() and each.pid not in keepers]
        for pid in strays:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return bool(strays)

    def _check(self, found: dict[int, watch.Process]) -> None:
        """Ends what exceeds a limit."""
        below = watch.by_root(found, {run.keeper for run in self._runs.values()})
        everything = [process for each in below.values() for process in each]
        threads = sum(process.threads for process in everything)
        if threads > self._processes:  # first, as memory is not to be measured while processes fork: they hold its lock
            self._exceed("processes", threads / self._processes, below)
            return
        now = time.monotonic()
        if now >= self._slow_at:
            self._shared = watch.shared_files([process.pid for process in everything])
            if self._takes_too_much_disk():
                self._end_all("disk")
                return
            self._slow_at = now + max(SLOW_S, 20 * (time.monotonic() - now))
        memory = watch.memory_of(everything, self._memory - self._shared) + self._shared
        if memory > self._memory:
            self._exceed("memory", memory / self._memory, below)
        else:
            self._exceeded = 0

    def _exceed(self, reason: str, ratio: float, below: dict[int, list[watch.Process]]) -> None:
        """Ends the program that takes most, or all of them. `ratio`: of what is taken to the limit. `below`: processes
        by their keeper.
        """
        self._exceeded += 1
        runs = {run.keeper: run for run in self._runs.values()}
        taken = {root: sum(map(SIZES[reason], each)) for root, each in below.items() if root in runs}
        if ratio > FAR or self._exceeded > PATIENCE or not taken:
            self._end_all(reason)
            return
        worst = max(taken, key=lambda root: taken[root])
        runs[worst].end(reason, at_once=True)
        for process in below[worst]:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGKILL)

    def _end_all(self, reason: str) -> None:
        """Ends all programs, with all processes at one moment, so that none can fork away."""
        for run in list(self._runs.values()):
            run.end(reason, at_once=True)
        if self._is_alone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        keepers = {run.keeper for run in self._runs.values()}
        stopped: set[int] = set()
        for _ in range(MOST_ROUNDS):  # a process that is stopped forks no more
            pids = set(watch.pids_of(False)) - keepers - stopped
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGSTOP)
            stopped |= pids
            if not pids:
                break
        for pid in stopped:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _takes_too_much_disk(self) -> bool:
        if self._is_sized:
            room = os.statvfs(self._root)
            return room.f_files - room.f_ffree > self._disk // 2**20 * FILES_PER_MB + FILES_PER_MB
        size = count = 0
        for place, _, names in os.walk(self._root):
            for name in names:
                with contextlib.suppress(OSError):
                    size += os.lstat(os.path.join(place, name)).st_blocks * 512
            count += len(names) + 1
        return size > self._disk or count > self._disk // 2**20 * FILES_PER_MB + FILES_PER_MB
