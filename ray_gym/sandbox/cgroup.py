"""Gives sandboxes limits of the kernel's own, where cgroup v2 is delegated to this user, or v1's `pids` can be written.

The first is so below `systemd --user`, for root, and where an administrator has given the folder above this process's
own cgroup to its user. The second is so for root, whose processes the kernel does not count otherwise: a fork bomb has
thousands before the supervisor's next look. Elsewhere these looks have to do.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from ray_gym.sandbox.limits import SandboxLimits

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = frozenset({"memory", "pids"})
PREFIX = "ray_gym-"
JOIN = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'
"""Shell's code that becomes a command after it has joined a cgroup, so that no process of the command is outside."""
MORE_MB = 64
"""Megabytes for the supervisor, and for what comes before its next look."""
MORE_PROCESSES = 64
REMOVE_S, LOOK_S = 3.0, 0.01


class Cgroup:
    """A cgroup holds all processes of one sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, parent: Path, name: str) -> Cgroup:
        """Returns the cgroup of a name, which need not be there."""
        return cls(parent / f"{PREFIX}{name}")

    @classmethod
    def make(cls, parent: Path, name: str, limits: SandboxLimits) -> Cgroup:
        """Makes a cgroup. Its limits lie above the sandbox's, so that the supervisor tells first who exceeded them; the
        disk is memory, too. Errors: OSError if it can't be made.
        """
        group = cls.of(parent, name)
        group.folder.mkdir()
        try:
            group._set("memory.max", (limits.memory_mb + 2 * limits.disk_mb + MORE_MB) * 2**20)
            group._set("memory.swap.max", 0)
            group._set("pids.max", 2 * limits.processes + MORE_PROCESSES)
        except OSError:
            group.remove()
            raise
        return group

    def joined(self, command: Sequence[str]) -> list[str]:
        """Returns the command that joins the cgroup and becomes `command`."""
        return ["/bin/sh", "-c", JOIN, "sh", str(self.folder), *command]

    @property
    def kills(self) -> int:
        """Returns the number of processes that the kernel has killed as their memory was at its limit."""
        with contextlib.suppress(OSError, ValueError):
            events = dict(line.split() for line in (self.folder / "memory.events").read_text("utf-8").splitlines())
            return int(events.get("oom_kill", 0))
        return 0

    def remove(self) -> None:
        """Kills what is in the cgroup, and removes it. It may be gone already."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1", "utf-8")
        ends = time.monotonic() + REMOVE_S
        while self.folder.is_dir() and time.monotonic() < ends:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(LOOK_S)

    def _set(self, name: str, value: int) -> None:
        """Sets a limit that the kernel has. Errors: OSError."""
        if (self.folder / name).exists():
            (self.folder / name).write_text(str(value), "utf-8")


def cgroup_here() -> Path | None:
    """Returns the cgroup in which this process can make others that limit memory and processes, or processes alone; None
    if there is none. It looks at files, and takes a moment.
    """
    return delegated() or counting()


def delegated(
    own: Path = Path("/proc/self/cgroup"), mount: Path = MOUNT, controllers: frozenset[str] = CONTROLLERS
) -> Path | None:
    """Returns the cgroup in which this process may make others with limits, and move its processes to; None if there is
    none. `own`: file that names this process's cgroup. `mount`: folder of cgroup v2.
    """
    with contextlib.suppress(OSError):
        lines = own.read_text("utf-8").splitlines()
        path = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
        if path is None or not (mount / "cgroup.controllers").exists():
            return None
        here = mount / path
        for folder in (here, here.parent) if here != mount else (here,):
            given = set((folder / "cgroup.subtree_control").read_text("utf-8").split())
            if controllers <= given and os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
                return folder
    return None


def counting(own: Path = Path("/proc/self/cgroup"), mount: Path = MOUNT) -> Path | None:
    """Returns the cgroup of v1's controller `pids` in which this process may make others; None if there is none. `own`:
    file that names this process's cgroups. `mount`: folder of the controllers.
    """
    with contextlib.suppress(OSError):
        lines = [line.split(":", 2) for line in own.read_text("utf-8").splitlines()]
        path = next((path.lstrip("/") for _, names, path in lines if "pids" in names.split(",")), None)
        folder = mount / "pids" / path if path is not None else None
        if folder is not None and os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
            return folder
    return None
