"""Follows a program of a supervised sandbox from the worker."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

from ray_gym.sandbox.link import Answer, Link
from ray_gym.sandbox.sandbox import Ended, ProgramEnd, SandboxGone

NOT_THERE, NOT_STARTED = 127, 126
"""Exit codes of a shell for a program that is not there, and one that can't be started."""


class SupervisedProgram:
    """Follows a program that the supervisor of a sandbox starts."""

    def __init__(self, link: Link, command: str, explain: Callable[[ProgramEnd], ProgramEnd]) -> None:
        """Prepares to follow a program. `explain` adds what the worker alone knows of its end."""
        self._link, self._command, self._explain = link, command, explain
        self._printed: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._end: asyncio.Future[ProgramEnd] = asyncio.get_running_loop().create_future()
        self._end.add_done_callback(lambda end: end.cancelled() or end.exception())  # nobody may wait for it
        self._number = link.follow(self._hear)

    async def begin(self, message: dict[str, Any], data: bytes = b"") -> None:
        """Starts it. If that is cancelled, the program is killed. Errors: SandboxRefused, OSError, SandboxGone."""
        try:
            await self._link.ask({**message, "do": "run", "run": self._number}, data)
        except BaseException as error:
            self._link.tell({"do": "kill", "run": self._number, "now": True})
            if not isinstance(error, asyncio.CancelledError):
                self._link.forget(self._number)
            raise

    async def output(self) -> AsyncIterator[bytes]:
        """Yields what it prints, as it comes."""
        while (data := await self._printed.get()) is not None:
            yield data

    async def write(self, data: bytes, last: bool = False) -> None:
        """Writes to its standard input, and closes that after the `last` data. Errors: SandboxGone."""
        await self._link.ask({"do": "input", "run": self._number, "last": last}, data)

    async def wait(self) -> ProgramEnd:
        """Waits for its end. Errors: SandboxGone."""
        return await asyncio.shield(self._end)

    async def kill(self, now: bool = False) -> ProgramEnd:
        """Ends it and all that it has started, and waits for the end. Errors: SandboxGone."""
        self._link.tell({"do": "kill", "run": self._number, "now": now})
        return await self.wait()

    def _hear(self, told: Answer | SandboxGone) -> None:
        if isinstance(told, SandboxGone):
            if not self._end.done():
                self._end.set_exception(told)
            self._printed.put_nowait(None)
            return
        message, data = told
        if "printed" in message:
            self._printed.put_nowait(data)
            return
        self._printed.put_nowait(None)
        if not self._end.done():
            self._end.set_result(self._explain(_end_of(self._command, message, data)))


def _end_of(command: str, message: dict[str, Any], data: bytes) -> ProgramEnd:
    """Reads how a program ended."""
    out = message["out"]
    code, stderr = message["exit"], data[out:]
    if (number := message["error"]) is not None:
        is_missing = number in (errno.ENOENT, errno.ENOTDIR)
        code, stderr = NOT_THERE if is_missing else NOT_STARTED, f"{command}: {os.strerror(number)}\n".encode()
    reason = Ended(message["ended"]) if message["ended"] else None
    return ProgramEnd(code, reason, message["seconds"], data[:out], stderr, *message["dropped"])
