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
from pathlib import Path
from typing import ClassVar

from ray_gym.sandbox.bubblewrap_view import INSIDE_AT, ROOT, View, arguments
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


class BubblewrapOptions(SandboxOptions):
    """Holds the options of `bubblewrap`."""

    read_only: tuple[Path, ...] = ()
    """Further files and folders of the machine that programs may read, at the same paths."""


class BubblewrapSandbox(SandboxKind):
    """Gives programs a view of the machine that has no processes, no network, and no files but those of the system, which
    they can't write.
    """

    Options: ClassVar[type[SandboxOptions]] = BubblewrapOptions
    name: ClassVar[str] = "bubblewrap"

    def __init__(self, options: object = None) -> None:
        super().__init__(options)
        self._version: tuple[int, ...] | None = None
        self._is_swept = False

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
        if self._version is None:
            self._version = await asyncio.to_thread(_version_here)
        is_sized = self._version >= SIZES_SINCE
        if not is_sized and not self._is_swept:
            self._is_swept = True
            await asyncio.to_thread(sweep)
        place = None if is_sized else await new_place()
        try:
            with self._prepared(limits, door, place, is_sized) as how:
                return await launch(how, limits)
        except (OSError, SandboxGone) as error:
            found = await asyncio.to_thread(self.problem)
            found = found or Unavailable(str(error), "are the paths of read_only and of the door there?")
            raise found.as_error(self.name) from error

    @contextmanager
    def _prepared(
        self, limits: SandboxLimits, door: Path | None, place: Place | None, is_sized: bool
    ) -> Iterator[Launch]:
        """Gives what is needed for a launch; it holds files open that bubblewrap reads at its start."""
        with ExitStack() as files:
            view = View(limits, self.options.read_only, door, place, is_sized)
            command, opened = arguments(view)
            for each in opened:
                files.callback(os.close, each)
            python = str(Path(sys.executable).resolve())
            yield Launch(
                ["bwrap", *command, "--", *supervisor_command(python, INSIDE_AT)],
                ROOT,
                is_sized,
                {"PATH": f"{PATH}:{Path(python).parent}", "LANG": "C.UTF-8", **(place.mark if place else {})},
                None if door is None else f"{INSIDE_AT}/door",
                0 if limits.network else DOOR_PORT,
                place,
                descriptors=opened,
                own_env={"PATH": os.environ.get("PATH", PATH)},
            )


def _version_here() -> tuple[int, ...]:
    """Returns bubblewrap's version; () if it can't be told, or there is no bubblewrap."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(["bwrap", "--version"], timeout=TRY_S, capture_output=True, text=True, check=False).stdout
        return tuple(map(int, re.findall(r"\d+", said)))
    return ()
