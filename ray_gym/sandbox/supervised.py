"""Implements a sandbox whose supervisor carries everything out: it is started, asked, and ended."""

from __future__ import annotations

import asyncio
import math
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ray_gym.sandbox.inside import main as inside_main
from ray_gym.sandbox.leftovers import Place, take_place
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.link import Link
from ray_gym.sandbox.program import SupervisedProgram
from ray_gym.sandbox.sandbox import OUTPUT_BYTES, READ_BYTES, Ended, Program, ProgramEnd, SandboxGone

INSIDE = Path(inside_main.__file__).parent
"""Package that runs in sandboxes. It is imported here, too, so that it is compiled once and not by each of them."""
START_S = 30.0
"""Seconds for a sandbox to start."""
BACKSTOP_S = 10.0
"""Seconds after a program's deadline at which a sandbox that has not ended it is ended itself."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Launch:
    """Describes how the supervisor of a sandbox is started."""

    command: list[str]
    """Command that runs it in its place."""
    root: str
    """Folder of the sandbox, as the supervisor sees it."""
    is_sized: bool
    """True if the folder has a size of its own; else what lies in it is added up."""
    env: dict[str, str]
    """Environment of programs."""
    door: str | None = None
    """Path of the door's socket, as the supervisor sees it."""
    port: int = 0
    """Port of the forwarder to the door; 0: any that is free."""
    place: Place | None = None
    """Folder of this machine that belongs to the sandbox."""
    descriptors: tuple[int, ...] = ()
    """File descriptors that the command inherits."""
    own_env: Mapping[str, str] = field(default_factory=dict)
    """Environment of the command itself."""
    starts_in: Path | None = None
    """Folder that the command is started in; None: this process's own."""


def supervisor_command(python: str, folder: str) -> list[str]:
    """Returns the command of a supervisor. `python`: an interpreter, 3.9 or later. `folder`: in which the package
    `inside` is.
    """
    code = "import sys; sys.path.insert(0, sys.argv[1]); from inside.main import main; main()"
    return [python, "-I", "-S", "-B", "-c", code, folder]


def supervisor_here() -> list[str]:
    """Returns the command of a supervisor on this machine."""
    return supervisor_command(sys.executable, str(INSIDE.parent))


async def new_place() -> Place:
    """Makes a folder for a sandbox; if this call is cancelled, there is none. Errors: UserError."""
    making = asyncio.create_task(asyncio.to_thread(take_place))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.to_thread((await making).remove)
        raise


async def launch(how: Launch, limits: SandboxLimits, starting: asyncio.Lock) -> SupervisedSandbox:
    """Starts the supervisor of a sandbox. If it can't be started, or this call is cancelled, all that is left of it is
    removed, its place too. `starting` is held while the process is started.

    Errors: OSError if its command can't be started, or takes too long; SandboxGone if it ended at once.
    """
    request = {
        "do": "open", "root": how.root, "env": how.env, "sized": how.is_sized, "memory": limits.memory_mb * 2**20,
        "processes": limits.processes, "disk": limits.disk_mb * 2**20, "door": how.door, "port": how.port,
    }  # fmt: skip
    link = None
    try:
        async with starting:
            process = await asyncio.create_subprocess_exec(
                *how.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=2**20, env=dict(how.own_env),
                cwd=how.starts_in, pass_fds=how.descriptors, start_new_session=True,
            )  # fmt: skip
        link = Link(process)
        async with asyncio.timeout(START_S):
            answer, _ = await link.ask(request)
    except BaseException:
        await asyncio.shield(_remove(link, how.place))
        raise
    return SupervisedSandbox(link, limits, answer["folder"], answer["port"], how.place)


async def _remove(link: Link | None, place: Place | None) -> None:
    is_clean = await link.close() if link is not None else False
    if place is not None:
        await asyncio.to_thread(place.remove, is_clean)


class SupervisedSandbox:
    """Asks its supervisor to start and end programs, and to read and write files."""

    def __init__(self, link: Link, limits: SandboxLimits, folder: str, port: int, place: Place | None) -> None:
        self._link, self._limits, self._place = link, limits, place
        self.folder = folder
        self.door_url = f"http://127.0.0.1:{port}" if port else None
        self._closing: asyncio.Task[None] | None = None
        self._kills = 0

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        folder: str = ".",
        deadline_s: float | None = None,
        output_bytes: int = OUTPUT_BYTES,
        kill: asyncio.Event | None = None,
    ) -> ProgramEnd:
        """Runs a program to its end; see `Sandbox.run`."""
        seconds = deadline_s if deadline_s is not None else self._limits.seconds
        request = _request(command, env, folder, seconds, output_bytes, is_stream=False)
        program = SupervisedProgram(self._link, command[0], self._explain)
        try:
            async with asyncio.timeout(seconds + BACKSTOP_S if math.isfinite(seconds) else None) as backstop:
                await program.begin(request, stdin)
                killing = asyncio.create_task(_kill_once_set(kill or asyncio.Event(), program, backstop))
                try:
                    return await program.wait()
                finally:
                    killing.cancel()
        except TimeoutError:
            await self.close()
            raise SandboxGone(f"the sandbox did not end {command[0]} in time, and was ended itself") from None
        except asyncio.CancelledError:
            await asyncio.shield(_end(program))
            raise

    async def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        folder: str = ".",
        deadline_s: float | None = None,
        output_bytes: int = OUTPUT_BYTES,
    ) -> Program:
        """Starts a program that goes on; see `Sandbox.start`."""
        seconds = deadline_s if deadline_s is not None else self._limits.seconds
        request = _request(command, env, folder, seconds, output_bytes, is_stream=True)
        program = SupervisedProgram(self._link, command[0], self._explain)
        await program.begin(request)
        return program

    def _explain(self, end: ProgramEnd) -> ProgramEnd:
        """Returns the end of a program with its reason, if the kernel killed it for its memory before the next look."""
        cgroup = self._place.cgroup if self._place is not None else None
        before, self._kills = self._kills, cgroup.kills if cgroup is not None else 0
        is_starved = end.exit_code == -signal.SIGKILL and end.ended is None and self._kills > before
        return replace(end, ended=Ended.MEMORY) if is_starved else end

    async def read(self, path: str, most_bytes: int = READ_BYTES) -> bytes:
        """Returns the content of a file; see `Sandbox.read`."""
        _, data = await self._link.ask({"do": "read", "path": path, "most": most_bytes})
        return data

    async def write(self, path: str, data: bytes, executable: bool = False) -> None:
        """Writes a file; see `Sandbox.write`."""
        await self._link.ask({"do": "write", "path": path, "executable": executable}, data)

    async def close(self) -> None:
        """Kills all its programs, and removes all that is left of it, also if the caller is cancelled meanwhile."""
        if self._closing is None:
            self._closing = asyncio.create_task(_remove(self._link, self._place))
        await asyncio.shield(self._closing)


async def _kill_once_set(told: asyncio.Event, program: SupervisedProgram, backstop: asyncio.Timeout) -> None:
    """Kills a program once an event is set; what waits for its end then waits `BACKSTOP_S` at most."""
    await told.wait()
    backstop.reschedule(asyncio.get_running_loop().time() + BACKSTOP_S)
    await _end(program)


async def _end(program: SupervisedProgram) -> None:
    """Kills a program, and waits until all that it had started is dead."""
    try:
        async with asyncio.timeout(BACKSTOP_S):
            await program.kill(now=True)
    except (SandboxGone, TimeoutError):
        return


def _request(
    command: Sequence[str],
    env: Mapping[str, str] | None,
    folder: str,
    seconds: float,
    output_bytes: int,
    is_stream: bool,
) -> dict[str, Any]:
    """Returns the request to run a program. Errors: ValueError for an empty command, or a NUL in it or in `env`."""
    texts = [*command, *(env or {}), *(env or {}).values()]
    if not command or any("\0" in text for text in texts) or any("=" in name for name in env or {}):
        raise ValueError("a command has at least one word, no NUL, and no = in the names of its environment")
    return {
        "command": list(command), "env": dict(env or {}), "folder": folder,
        "deadline": seconds if math.isfinite(seconds) else None,
        "output": output_bytes, "stream": is_stream,
    }  # fmt: skip
