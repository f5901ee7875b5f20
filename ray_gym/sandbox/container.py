"""Implements the kinds `podman` and `docker`: containers of an image, started by their command lines."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ray_gym.sandbox.kind import SandboxKind, SandboxOptions, Unavailable
from ray_gym.sandbox.leftovers import Place, container_name, sweep
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox, SandboxGone
from ray_gym.sandbox.supervised import INSIDE, PATH, Launch, launch, new_place, supervisor_command

ROOT = "/sandbox"
INSIDE_AT = "/run/ray_gym"
DOOR_PORT = 4000
"""Port of the door, on a loopback that is the container's own."""
TRY_S = 20.0
MOST_FILES = 2**16
NEEDS_PYTHON = (
    "it needs the image beside the program, python3 (3.9 or later) in the image, and the right to start containers"
)


class ContainerOptions(SandboxOptions):
    """Holds the options of `podman` and `docker`."""

    image: str = Field(min_length=1, pattern=r"^[\w./:@-]+$")
    """Image, which has to be on the machine. It needs python3, 3.9 or later."""
    cpus: float | None = Field(default=None, gt=0)
    """CPUs that its programs may use together; None: all."""
    runtime: str | None = Field(default=None, pattern=r"^[\w./-]+$")
    """Runtime of containers, such as `runsc` or `runc`; None: the program's own."""


class ContainerSandbox(SandboxKind):
    """Gives programs the files of an image, in a container without network, rights and a writable system."""

    Options: ClassVar[type[SandboxOptions]] = ContainerOptions
    engine: ClassVar[str]
    install: ClassVar[str]

    def __init__(self, options: object) -> None:
        super().__init__(options)
        self._is_swept = False

    @classmethod
    def missing_here(cls) -> Unavailable | None:
        """Looks for the program, and asks it for what it knows of the machine, for which docker needs its service."""
        return cls._ask("info")

    def problem(self) -> Unavailable | None:
        """Looks for the program and the image."""
        if (found := self._ask("image", "inspect", "--format", "{{.Id}}", self.options.image)) is None:
            return None
        if any(words in found.found.lower() for words in ("no such image", "image not known")):
            return Unavailable(f"image {self.options.image} is not here", f"{self.engine} pull {self.options.image}")
        return found

    @classmethod
    def _ask(cls, *command: str) -> Unavailable | None:
        """Runs a command of the program. Returns what was wrong, with what it said."""
        if shutil.which(cls.engine) is None:
            return Unavailable(f"{cls.engine} is not in PATH", cls.install)
        try:
            ran = subprocess.run(
                [cls.engine, *command], timeout=TRY_S, capture_output=True, text=True, errors="replace", check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Unavailable(f"{cls.engine} does not answer ({error})", cls.install)
        said = " ".join(ran.stderr.split())[-300:]
        return Unavailable(f"{cls.engine}: {said}", cls.install) if ran.returncode else None

    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        """Opens a sandbox. Errors: UserError if it can't be had here, or the image is not here or has no python3."""
        if not self._is_swept:
            self._is_swept = True
            await asyncio.to_thread(sweep)
        if (found := await asyncio.to_thread(self.problem)) is not None:
            raise found.as_error(self.name)
        place = await new_place()
        place.note_container(self.engine)
        how = Launch(
            self.command(limits, door, place), ROOT, True, {"PATH": PATH, "LANG": "C.UTF-8"},
            None if door is None else f"{INSIDE_AT}/door", 0 if limits.network else DOOR_PORT, place,
            own_env={**os.environ}, starts_in=place.folder,  # where podman's conmon leaves files
        )  # fmt: skip
        try:
            return await launch(how, limits, self._starting)
        except (OSError, SandboxGone) as error:
            raise Unavailable(str(error), NEEDS_PYTHON).as_error(self.name) from error

    def command(self, limits: SandboxLimits, door: Path | None, place: Place) -> list[str]:
        """Returns the command that runs the supervisor in a container."""
        memory = f"{limits.memory_mb + 2 * limits.disk_mb + SUPERVISOR_MB}m"  # its disk is memory, too
        files = _most_files()
        disk = f"rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m"
        parts = [
            self.engine, "run", "--rm", "--interactive", "--pull=never", f"--name={container_name(place.name)}",
            "--label=ray_gym.sandbox", f"--network={'host' if limits.network else 'none'}",
            f"--memory={memory}", f"--memory-swap={memory}", f"--pids-limit={2 * limits.processes + MORE_PROCESSES}",
            "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
            f"--tmpfs={ROOT}:{disk}", f"--tmpfs=/tmp:{disk}", f"--workdir={ROOT}", "--entrypoint=python3",
            f"--volume={INSIDE}:{INSIDE_AT}/{INSIDE.name}:ro", *self.user(), f"--ulimit=nofile={files}:{files}",
        ]  # fmt: skip
        if door is not None:
            parts.append(f"--volume={door}:{INSIDE_AT}/door")
        if self.options.cpus is not None:
            parts.append(f"--cpus={self.options.cpus:g}")
        if self.options.runtime is not None:
            parts.insert(2 if self.engine == "docker" else 1, f"--runtime={self.options.runtime}")
        _, *rest = supervisor_command("python3", INSIDE_AT)
        return [*parts, self.options.image, *rest]

    def user(self) -> list[str]:
        """Returns the arguments by which programs run as this process's user, whose door they may use."""
        return [f"--user={os.getuid()}:{os.getgid()}"]


SUPERVISOR_MB = 64
MORE_PROCESSES = 64
"""Processes that the kernel's limit allows beyond twice the sandbox's: the guard tells first who exceeded it."""
NPROC = 4096


def _most_files() -> int:
    """Returns how many files a program may have open: raising this process's own limit would need rights."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return MOST_FILES if files == resource.RLIM_INFINITY else min(files, MOST_FILES)


class PodmanSandbox(ContainerSandbox):
    """Gives programs a container of podman's, which needs neither root nor a service."""

    name: ClassVar[str] = "podman"
    engine: ClassVar[str] = "podman"
    install: ClassVar[str] = "install it: apt-get install podman (dnf install podman), in the image of the nodes too"

    def user(self) -> list[str]:
        """Returns the arguments by which programs run as this process's user. Podman's own limit of processes is above
        what some machines allow; each container counts for itself.
        """
        ours = super().user() if os.getuid() == 0 else ["--userns=keep-id", *super().user()]
        return [*ours, f"--ulimit=nproc={NPROC}:{NPROC}"]


class DockerSandbox(ContainerSandbox):
    """Gives programs a container of Docker's, whose service has to run on the machine."""

    name: ClassVar[str] = "docker"
    engine: ClassVar[str] = "docker"
    install: ClassVar[str] = (
        "install Docker and start its service, with this user in the group docker; or choose podman, which needs none"
    )
