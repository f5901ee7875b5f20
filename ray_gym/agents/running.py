"""Runs the program of an agent in a sandbox, turn by turn."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ray_gym.agents.program import AgentProgram, Output, Site
from ray_gym.aio.clock import ActiveClock
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.installed.cache import agents_dir
from ray_gym.sandbox.sandbox import Ended, ProgramEnd, Sandbox, SandboxGone, SandboxRefused

BIN = "node_modules/.bin"
"""Folder of the programs in `agents_dir`."""
WITH_PATH = 'PATH="$1:$PATH"; shift; exec "$@"'
NOT_THERE = 127
"""Exit code of a program that is not there."""


@dataclass(frozen=True, slots=True)
class Left:
    """Holds what a program left at the end of a turn."""

    output: Output
    errors: str
    """Its standard error: the first and the last of it."""
    why_ended: str | None
    """Reason for which it did not end well; None if it did."""
    dropped: int = 0
    """Bytes of what it printed that were left out between the first and the last."""
    is_by_itself: bool = True
    """False if a limit ended it."""
    is_wrong_code: bool = False
    """True if it ended as its own code is wrong (`AgentProgram.wrong_code`)."""


@dataclass(slots=True)
class Launcher:
    """Starts a program for each turn in one sandbox, where its files stay."""

    name: str
    """Id of the agent."""
    program: AgentProgram
    sandbox: Sandbox
    site: Site
    deadline_s: float
    """Seconds that a turn may take, by the clock."""
    clock: ActiveClock
    """Clock of the episode, which leaves out the time in which the program waits for its model to be free."""

    async def run(self, words: str, turn: int, ending: asyncio.Event) -> Left:
        """Runs the program for a turn, and returns what it left. `words`: what its participant hears. `turn`: number of
        the turn, from 0. `ending`: once it is set, the program is ended.

        Errors: EpisodeFailure (infra) if the sandbox is gone.
        """
        try:
            if not turn:
                for path, text in self.program.files(self.site).items():
                    await self.sandbox.write(path, text.encode())
            else:
                await self._clear_answers()
            end = await self._run(words, turn, ending)
            output, errors = await self._output(end), end.stderr.decode("utf-8", "replace")
            is_by_itself = end.ended is None
            is_wrong_code = is_by_itself and end.exit_code is not None and end.exit_code == self.program.wrong_code
            return Left(output, errors, _why(end), end.stdout_dropped, is_by_itself, is_wrong_code)
        except (SandboxGone, SandboxRefused, OSError) as error:
            raise EpisodeFailure(FailureKind.INFRA, f"sandbox of {self.name}", str(error)) from error

    async def _clear_answers(self) -> None:
        """Empties the files of the last answer: a program that does not end well may leave them as they are."""
        for path in self.program.answer_files:
            with contextlib.suppress(OSError, SandboxRefused):  # whatever it has made of the file, it is no answer
                await self.sandbox.write(path, b"")

    async def _run(self, words: str, turn: int, ending: asyncio.Event) -> ProgramEnd:
        """Runs the program to its end, or until its time has passed: then `ending` is set."""
        start = self.program.start(self.site, words, turn)
        timer = asyncio.create_task(self._end_late(ending))
        try:
            end = await self.sandbox.run(
                with_path(start.command),
                stdin=start.input.encode(),
                env=start.environment,
                deadline_s=math.inf,
                kill=ending,
            )
            is_late = timer.done() and await timer
        finally:
            timer.cancel()
        if is_late and end.ended is Ended.KILLED:
            return replace(end, ended=Ended.DEADLINE, seconds=self.deadline_s)
        return end

    async def _end_late(self, ending: asyncio.Event) -> bool:
        """Sets `ending` once a turn that begins now has taken its time, and returns True; False if it is set before."""
        try:
            async with self.clock.limit(self.clock.elapsed_s + self.deadline_s):
                await ending.wait()
        except TimeoutError:
            ending.set()
            return True
        return False

    async def _output(self, end: ProgramEnd) -> Output:
        files = {}
        for path in self.program.answer_files:
            try:
                files[path] = (await self.sandbox.read(path)).decode("utf-8", "replace")
            except (OSError, SandboxRefused):  # whatever it has made of the file: its answer is not there
                continue
        return Output(end.stdout.decode("utf-8", "replace"), files)


def with_path(command: Sequence[str]) -> list[str]:
    """Returns a command that is also looked for among the programs of `agents_dir`."""
    return ["sh", "-c", WITH_PATH, "sh", str(agents_dir() / BIN), *command]


def _why(end: ProgramEnd) -> str | None:
    """Returns the reason for which a program did not end well; None if it did."""
    if end.ended is not None:
        return f"it was ended ({end.ended.value}) after {end.seconds:.0f} s"
    if end.exit_code == NOT_THERE:
        return "it is not in the sandbox"
    return f"it ended with exit code {end.exit_code}" if end.exit_code else None
