"""Implements the kind `bubblewrap`: namespaces of the kernel, a read-only system and a disk in memory, without root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from ray_gym.errors import UserError
from ray_gym.paths import home_expanded
from ray_gym.sandbox.bubblewrap_view import INSIDE_AT, ROOT, View, arguments, machine_arguments
from ray_gym.sandbox.cgroup import cgroup_here
from ray_gym.sandbox.kind import SandboxKind, SandboxOptions, Unavailable
from ray_gym.sandbox.leftovers import Place, sweep
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox, SandboxGone
from ray_gym.sandbox.supervised import PATH, Launch, launch, new_place, supervisor_command

DOOR_PORT = 4000
"""Port of the door, on a loopback that is the sandbox's own."""
TRY_S = 10.0
SIZES_SINCE = (0, 8)
"""Version of bubblewrap from which on it gives a disk in memory a size, and can forbid further user namespaces."""
INSTALL = "install it: apt-get install bubblewrap (dnf install bubblewrap), in the image of the nodes too"
NAMESPACES = (
    "allow user namespaces to this user: sysctl -w user.max_user_namespaces=15000, kernel.unprivileged_userns_clone=1 "
    "(Debian), kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container they need a seccomp profile that "
    "has unshare and mount; or choose the kind podman or docker"
)


def _absolute(path: Path) -> Path:
    try:
        found = home_expanded(path)
    except UserError as error:
        raise ValueError(str(error)) from None
    if not found.is_absolute():
        raise ValueError(f"{path} is no absolute path")
    return found


class BubblewrapOptions(SandboxOptions):
    """Holds the options of `bubblewrap`."""

    read_only: tuple[Annotated[Path, AfterValidator(_absolute)], ...] = ()
    """Further files and folders of the machine that programs may read, at the same paths."""


class BubblewrapSandbox(SandboxKind):
    """Gives programs a view of the machine that has no processes, no network, and no files but those of the system, which
    they can't write.
    """

    Options: ClassVar[type[SandboxOptions]] = BubblewrapOptions
    name: ClassVar[str] = "bubblewrap"
    shows_machine: ClassVar[bool] = True

    def __init__(self, options: object = None) -> None:
        super().__init__(options)
        self._machine: Machine | None = None

    @classmethod
    def missing_here(cls) -> Unavailable | None:
        """Tries it with a program that does nothing."""
        if (program := shutil.which("bwrap")) is None:
            return Unavailable("bwrap is not in PATH", INSTALL)
        command = [program, "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
        try:
            tried = subprocess.run(command, timeout=TRY_S, capture_output=True, text=True, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            return Unavailable(f"{program} does not run ({error})", INSTALL)
        if tried.returncode != 0:
            return Unavailable(f"bwrap: {(tried.stderr.strip() or 'it failed')[-300:]}", NAMESPACES)
        return None

    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        """Opens a sandbox. Errors: UserError if it can't be had here, or an option of it is wrong."""
        if self._machine is None:
            self._machine = await asyncio.to_thread(Machine.look)
        place = await new_place()
        try:
            with self._prepared(limits, door, place, self._machine) as how:
                return await launch(how, limits, self._starting)
        except (OSError, SandboxGone) as error:
            found = await asyncio.to_thread(self.problem)
            found = found or Unavailable(str(error), "are the paths of sandbox.read_only there?")
            raise found.as_error(self.name) from error

    @contextmanager
    def _prepared(self, limits: SandboxLimits, door: Path | None, place: Place, machine: Machine) -> Iterator[Launch]:
        """Gives what is needed for a launch; it holds files open that bubblewrap reads at its start."""
        with ExitStack() as files:
            own_files = None if machine.is_sized else place.files
            options, opened = arguments(View(limits, self.options.read_only, door, own_files), machine.arguments)
            for each in opened:
                files.callback(os.close, each)
            python = str(Path(sys.executable).resolve())
            command = ["bwrap", *options, "--", *supervisor_command(python, INSIDE_AT)]
            yield Launch(
                place.confined(command, machine.cgroups, limits),
                ROOT,
                machine.is_sized,
                {"PATH": f"{PATH}:{Path(python).parent}", "LANG": "C.UTF-8", **place.mark},
                None if door is None else f"{INSIDE_AT}/door",
                0 if limits.network else DOOR_PORT,
                place,
                descriptors=opened,
                own_env={"PATH": os.environ.get("PATH", PATH), **place.mark},
            )


@dataclass(frozen=True, slots=True)
class Machine:
    """Says what bubblewrap can do on this machine."""

    is_sized: bool
    """True if it gives disks in memory a size."""
    cgroups: Path | None
    """Cgroup in which others can be made; None if there is none."""
    arguments: tuple[str, ...]
    """Arguments of bubblewrap for what is seen of the machine."""

    @classmethod
    def look(cls) -> Machine:
        """Looks at the machine, and removes what dead workers left."""
        sweep()
        return cls(_version_here() >= SIZES_SINCE, cgroup_here(), machine_arguments())


def _version_here() -> tuple[int, ...]:
    """Returns bubblewrap's version; () if it can't be told, or there is no bubblewrap."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(["bwrap", "--version"], timeout=TRY_S, capture_output=True, text=True, check=False).stdout
        return tuple(map(int, re.findall(r"\d+", said)))
    return ()
