"""Measures the processes of a sandbox: whose they are, their threads and their memory."""

from __future__ import annotations

import contextlib
import os
import time

from .keeper import children_of

PAGE = os.sysconf("SC_PAGE_SIZE")
MEASURE_S = 0.05
"""Seconds for measuring the memory that processes have in common."""
KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Files in which a container finds how many of its processes the kernel has killed for their memory (cgroup 2, cgroup 1)."""


class Process:
    """Holds what `/proc` says of a process."""

    def __init__(self, pid: int, parent: int, threads: int, resident: int) -> None:
        self.pid = pid
        self.parent = parent
        self.threads = threads
        self.resident = resident
        """Bytes in memory, those of files and those that it shares included."""


def pids_of(is_alone: bool) -> list[int]:
    """Returns the PIDs of the sandbox's processes, without this one. `is_alone`: this one is process 1."""
    if is_alone:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    pids = children_of(os.getpid())
    for pid in pids:  # it grows meanwhile
        pids.extend(children_of(pid))
    return pids


def processes(pids: list[int]) -> dict[int, Process]:
    """Returns the processes that are not gone meanwhile, by their PIDs."""
    found = {}
    for pid in pids:
        process = _read(pid)
        if process is not None:
            found[pid] = process
    return found


def by_root(found: dict[int, Process], roots: set[int]) -> dict[int, list[Process]]:
    """Returns the processes by the keeper that they descend from, keepers left out; those of none are below 0."""
    below: dict[int, list[Process]] = {}
    for process in found.values():
        if process.pid in roots:
            continue
        at, steps = process, 0
        while at.parent not in roots and at.parent in found and steps < len(found):
            at, steps = found[at.parent], steps + 1
        below.setdefault(at.parent if at.parent in roots else 0, []).append(process)
    return below


def memory_of(found: list[Process], most: int) -> int:
    """Returns the bytes of memory that processes take. Where their plain sum is above `most`, what several of them share
    is counted once, and pages of files are not counted, as the kernel can give those back.

    That is measured for `MEASURE_S` seconds, from the largest on, and of the rest the same share is taken: a process
    that forks lets nobody measure it meanwhile, and hundreds of them would hold up all else.
    """
    total = sum(process.resident for process in found)
    if total <= most:
        return total
    own = measured = 0
    ends = time.monotonic() + MEASURE_S
    for process in sorted(found, key=lambda each: each.resident, reverse=True):
        own += _own_share(process)
        measured += process.resident
        if time.monotonic() > ends:
            break
    return own * total // max(1, measured)


def shared_files(pids: list[int]) -> int:
    """Returns the bytes in files without a name (memfd) and in System V's shared memory."""
    sizes: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    path = f"/proc/{pid}/fd/{name}"
                    if os.readlink(path).startswith("/memfd:"):
                        status = os.stat(path)
                        sizes[status.st_ino] = status.st_blocks * 512
    return sum(sizes.values()) + _system_v()


def memory_kills() -> int:
    """Returns how many processes of this container the kernel has killed for their memory; 0 where it does not tell."""
    for path in KILLS:
        with contextlib.suppress(OSError, ValueError):
            with open(path, encoding="utf-8") as file:
                told = dict(line.split() for line in file)
            return int(told.get("oom_kill", 0))
    return 0


def _system_v() -> int:
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/sysvipc/shm", encoding="utf-8") as file:
            head, *rows = (line.split() for line in file)
        total = sum(int(row[head.index("rss")]) for row in rows)
    return total


def _read(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return Process(pid, int(fields[1]), int(fields[17]), int(fields[21]) * PAGE)
    except (OSError, ValueError, IndexError):
        return None


def _own_share(process: Process) -> int:
    """Returns the bytes of a process, with its share of what it has in common with others; all of them if it hides."""
    share = 0
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="utf-8") as file:
            for line in file:
                if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                    share += int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return process.resident
    return share
