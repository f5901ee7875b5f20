"""Implements the kind `apptainer`: images on clusters where neither root nor a service is to be had."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ray_gym.sandbox.kind import SandboxKind, SandboxOptions, Unavailable
from ray_gym.sandbox.leftovers import Place, sweep
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox, SandboxGone
from ray_gym.sandbox.supervised import INSIDE, PATH, Launch, launch, new_place, supervisor_command

ROOT = "/sandbox"
INSIDE_AT = "/opt/ray_gym"
INSTALL = "install apptainer (apptainer.org), or load its module on the nodes (module load apptainer)"
PROGRAMS = ("apptainer", "singularity")


class ApptainerOptions(SandboxOptions):
    """Holds the options of `apptainer`."""

    image: Path
    """File of the image (.sif), or folder of an unpacked one. It needs python3, 3.9 or later."""
    cpus: float | None = Field(default=None, gt=0)
    """CPUs that its programs may use together; None: all. It needs cgroup v2, delegated to the user."""


class ApptainerSandbox(SandboxKind):
    """Gives programs the files of an image, without network and without the user's own files."""

    Options: ClassVar[type[SandboxOptions]] = ApptainerOptions
    name: ClassVar[str] = "apptainer"

    def __init__(self, options: object) -> None:
        super().__init__(options)
        self._is_swept = False

    @classmethod
    def missing_here(cls) -> Unavailable | None:
        """Looks for the program."""
        return None if _program() else Unavailable("neither apptainer nor singularity is in PATH", INSTALL)

    def problem(self) -> Unavailable | None:
        """Looks for the program and the image."""
        if (found := self.missing_here()) is not None:
            return found
        if not self.options.image.exists():
            return Unavailable(
                f"image {self.options.image} is not here",
                f"make it: apptainer build {self.options.image} docker://IMAGE",
            )
        return None

    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        """Opens a sandbox. Errors: UserError if it can't be had here, or the image is not here or has no python3."""
        if (found := await asyncio.to_thread(self.problem)) is not None:
            raise found.as_error(self.name)
        if not self._is_swept:
            self._is_swept = True
            await asyncio.to_thread(sweep)
        place = await new_place()
        env = {"PATH": PATH, "LANG": "C.UTF-8", **place.mark}
        at = None if door is None else f"{INSIDE_AT}/door"
        how = Launch(self.command(limits, door, place), ROOT, False, env, at, 0, place, own_env={**os.environ})
        try:
            return await launch(how, limits, self._starting)
        except (OSError, SandboxGone) as error:
            mend = "does the image have python3, 3.9 or later, and may this user make user namespaces?"
            raise Unavailable(str(error), mend).as_error(self.name) from error

    def command(self, limits: SandboxLimits, door: Path | None, place: Place) -> list[str]:
        """Returns the command that runs the supervisor in the image."""
        parts = [
            _program() or PROGRAMS[0], "exec", "--containall", "--cleanenv", "--no-privs", "--pid", "--ipc", "--uts",
            f"--bind={place.files}:{ROOT}", f"--bind={INSIDE}:{INSIDE_AT}/{INSIDE.name}:ro", f"--pwd={ROOT}",
        ]  # fmt: skip
        if not limits.network:
            parts += ["--net", "--network=none"]
        if door is not None:
            parts.append(f"--bind={door}:{INSIDE_AT}/door")
        if self.options.cpus is not None:
            parts.append(f"--cpus={self.options.cpus:g}")
        return [*parts, str(self.options.image), *supervisor_command("python3", INSIDE_AT)]


def _program() -> str | None:
    return next((name for name in PROGRAMS if shutil.which(name)), None)
