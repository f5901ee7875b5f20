"""Gives an episode its sandbox, in which its tools, its graders and the programs of its agents act."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager

from ray_gym.aio.clock import ActiveClock
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import OUTPUT_BYTES, READ_BYTES, Program, ProgramEnd, Sandbox, SandboxGone, SandboxRefused

TO_END_S = 3.0
"""Seconds that are left of a tool's deadline for its program to be ended, and for the tool to tell of it."""

Give = Callable[[], AbstractAsyncContextManager[Sandbox]]
"""Function that gives a sandbox for the time of a block."""


class EpisodeSandbox:
    """Opens a sandbox of an episode when it is used for the first time. `Sandbox` says what each method does.

    Whatever can't be done with a file or a command is refused (SandboxRefused); a tool that lets that pass tells its
    caller.
    """

    def __init__(self, give: Give | None, clock: ActiveClock, deadline_s: float | None = None) -> None:
        """Takes the way to get it. `give`: gives the sandbox; None: the run has none. `clock`: the episode's, which stands
        still while it waits for the sandbox. `deadline_s`: seconds of a program whose caller gives no others; None: those
        of the limits.
        """
        self._give, self._clock, self._deadline_s = give, clock, deadline_s
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._sandbox: Sandbox | None = None
        self._is_closed = False

    @property
    def is_given(self) -> bool:
        """Says whether the run has sandboxes. It has none where somebody only looks at tasks."""
        return self._give is not None

    @property
    def folder(self) -> str:
        """Returns the folder's absolute path. Errors: RuntimeError if the sandbox was not used yet."""
        return self._used().folder

    @property
    def door_url(self) -> str | None:
        """Returns the address of the worker's door; None without one. Errors: RuntimeError if it was not used yet."""
        return self._used().door_url

    async def open(self) -> Sandbox:
        """Opens the sandbox, unless it is open, and returns it. Waits while the worker has as many as it may have.

        Errors: EpisodeFailure (infra) if it can't be opened; SandboxGone if the episode is over; RuntimeError if the run
        has none.
        """
        if self._give is None:
            raise RuntimeError("there is no sandbox here: a run has one if its environment says uses_sandbox = True")
        async with self._opening:
            if self._is_closed:
                raise SandboxGone("the sandbox was closed, as its episode is over")
            if self._sandbox is None:
                with self._clock.count_wait():
                    self._sandbox = await self._opened(self._give)
            return self._sandbox

    async def _opened(self, give: Give) -> Sandbox:
        try:
            return await self._stack.enter_async_context(give())
        except (UserError, OSError, SandboxGone) as error:
            raise EpisodeFailure(FailureKind.INFRA, "sandbox", str(error)) from error

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        folder: str = ".",
        deadline_s: float | None = None,
        output_bytes: int = OUTPUT_BYTES,
    ) -> ProgramEnd:
        """Runs a program to its end. Errors: SandboxRefused; SandboxGone; those of `open`."""
        sandbox, seconds = await self.open(), self._deadline_s if deadline_s is None else deadline_s
        with _refusing("run"):
            return await sandbox.run(
                command, stdin=stdin, env=env, folder=folder, deadline_s=seconds, output_bytes=output_bytes
            )

    async def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        folder: str = ".",
        deadline_s: float | None = None,
        output_bytes: int = OUTPUT_BYTES,
    ) -> Program:
        """Starts a program that goes on. Errors: SandboxRefused; SandboxGone; those of `open`."""
        sandbox = await self.open()
        with _refusing("start"):
            return await sandbox.start(
                command, env=env, folder=folder, deadline_s=deadline_s, output_bytes=output_bytes
            )

    async def read(self, path: str, most_bytes: int = READ_BYTES) -> bytes:
        """Returns the content of a file. Errors: SandboxRefused; SandboxGone; those of `open`."""
        sandbox = await self.open()
        with _refusing(path):
            return await sandbox.read(path, most_bytes)

    async def write(self, path: str, data: bytes, executable: bool = False) -> None:
        """Writes a file, and makes its folders. Errors: SandboxRefused; SandboxGone; those of `open`."""
        sandbox = await self.open()
        with _refusing(path):
            await sandbox.write(path, data, executable)

    async def close(self) -> None:
        """Kills all its programs, and removes all that is left of it. It can't be used again."""
        self._is_closed = True
        async with self._opening:
            self._sandbox = None
            await self._stack.aclose()

    def _used(self) -> Sandbox:
        if self._sandbox is None:
            raise RuntimeError("the sandbox is not open: it is opened when it is used for the first time")
        return self._sandbox


def seconds_for_tools(limits: SandboxLimits, tool_deadline_s: float) -> float:
    """Returns the seconds that a program of a tool may run, so that it is ended before its tool would be."""
    return min(limits.seconds, max(tool_deadline_s - TO_END_S, tool_deadline_s / 2))


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turns errors of the system in the block, and a path or a command that can't be one, into a refusal."""
    try:
        yield
    except OSError as error:
        raise SandboxRefused(f"{what}: {error.strerror or error}") from None
    except ValueError as error:
        raise SandboxRefused(f"{what}: {error}") from None
