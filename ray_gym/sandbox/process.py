"""Implements the kind `process`: a folder and limits, without protection."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import ClassVar

from ray_gym.sandbox.cgroup import cgroup_here
from ray_gym.sandbox.kind import SandboxKind, Unavailable
from ray_gym.sandbox.leftovers import sweep
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox, SandboxGone
from ray_gym.sandbox.supervised import PATH, Launch, launch, new_place, supervisor_here


class ProcessSandbox(SandboxKind):
    """Gives programs a folder and limits. They see this machine and its network as this process does, and can do all
    that its user may: it is for programs that are trusted.
    """

    name: ClassVar[str] = "process"
    protects: ClassVar[bool] = False
    shows_machine: ClassVar[bool] = True

    def __init__(self, options: object = None) -> None:
        super().__init__(options)
        self._is_swept = False
        self._cgroups: Path | None = None

    @classmethod
    def missing_here(cls) -> Unavailable | None:
        return None

    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        """Opens a sandbox. Errors: UserError if no folder can be had for it."""
        if not self._is_swept:
            self._cgroups = await asyncio.to_thread(cgroup_here)
            self._is_swept = True
            await asyncio.to_thread(sweep)
        place = await new_place()
        env = {"PATH": os.environ.get("PATH", PATH), "LANG": "C.UTF-8", **place.mark}
        command = place.confined(supervisor_here(), self._cgroups, limits)
        how = Launch(command, str(place.files), False, env, str(door) if door else None, place=place)
        try:
            return await launch(how, limits, self._starting)
        except (OSError, SandboxGone) as error:
            raise Unavailable(f"its supervisor did not start ({error})", "does this Python still run?").as_error(
                self.name
            ) from error
