"""Sends requests to the supervisor of a sandbox, and takes its answers and what it tells of programs by itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import Any

from ray_gym.sandbox.inside.frames import FrameReader, pack
from ray_gym.sandbox.sandbox import SandboxGone, SandboxRefused

TOLD_BYTES = 4096
"""Bytes that are kept of what the supervisor, or the program that starts it, prints as errors."""
END_S = 5.0
"""Seconds for a supervisor to end after its connection was closed; then it is killed."""
CHUNK = 2**18
Answer = tuple[dict[str, Any], bytes]


class Link:
    """A link is the connection to the supervisor of a sandbox, and its process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process, self._stdin = process, process.stdin
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Answer]] = {}
        self._programs: dict[int, Callable[[Answer | SandboxGone], None]] = {}
        self._errors = bytearray()
        self._gone: SandboxGone | None = None
        self._is_closing = False
        self._reading = asyncio.create_task(self._read(process.stdout, process.stderr))
        self._death = -1
        """Descriptor that can be read once the process is dead."""
        self._is_group_killed = False
        self._await_death()

    async def ask(self, message: dict[str, Any], data: bytes = b"") -> Answer:
        """Sends a request, and returns the answer. Errors: SandboxRefused, OSError; SandboxGone; ValueError for data
        that is too long.
        """
        if self._gone is not None:
            raise self._gone
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self._stdin.write(pack({**message, "ask": number}, data))
            with contextlib.suppress(ConnectionError):  # the reader says why
                await self._stdin.drain()
            got: Answer = await answer
            return got
        finally:
            del self._asked[number]

    def tell(self, message: dict[str, Any], data: bytes = b"") -> None:
        """Sends a request without waiting for it."""
        if self._gone is None:
            self._stdin.write(pack(message, data))

    def follow(self, hear: Callable[[Answer | SandboxGone], None]) -> int:
        """Returns a number for a program. `hear` gets what is told of it; the last is its end, or SandboxGone."""
        number = next(self._numbers)
        self._programs[number] = hear
        return number

    def forget(self, number: int) -> None:
        """Stops following a program, which was not started."""
        self._programs.pop(number, None)

    @property
    def errors(self) -> str:
        """Returns the last of what was printed as errors."""
        return self._errors.decode(errors="replace").strip()

    async def close(self) -> bool:
        """Ends the supervisor with all that is in its sandbox: it ends when its input does, or is killed. Returns True if
        it has ended by itself, and so has removed all that it had started.
        """
        self._is_closing = True
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._kill_group()
        self._reading.cancel()
        self._fail("")
        return self._process.returncode == 0

    def _await_death(self) -> None:
        """Kills the process's group as soon as the process is dead: a bubblewrap that is killed in the middle of its
        start leaves a child in it, which would wait for it forever. asyncio would wait for that child, whose pipes are
        open.
        """
        with contextlib.suppress(ProcessLookupError):  # it was killed already
            self._death = os.pidfd_open(self._process.pid)
            asyncio.get_running_loop().add_reader(self._death, self._kill_group)
            return
        self._kill_group()

    def _kill_group(self) -> None:
        """Kills what is left of the process group of the process, which is dead, once."""
        if self._is_group_killed:
            return
        self._is_group_killed = True
        if self._death >= 0:
            asyncio.get_running_loop().remove_reader(self._death)
            os.close(self._death)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _read(self, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader) -> None:
        """Hears the supervisor until its connection ends."""
        errors = asyncio.create_task(self._read_errors(stderr))
        frames = FrameReader()
        why = ""
        try:
            while data := await stdout.read(CHUNK):
                for message, rest in frames.feed(data):
                    self._hear(message, rest)
        except (ValueError, KeyError, OSError) as error:
            why = f"it said something that is no answer ({error})"
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(errors, 1)
        self._fail(why)

    async def _read_errors(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(CHUNK):
            self._errors += data
            del self._errors[:-TOLD_BYTES]

    def _hear(self, message: dict[str, Any], rest: bytes) -> None:
        if "ask" in message:
            future = self._asked.get(message["ask"])
            if future is not None and not future.done():
                _settle(future, message, rest)
            return
        is_end = "end" in message
        number = message["end"] if is_end else message["printed"]
        hear = self._programs.pop(number, None) if is_end else self._programs.get(number)
        if hear is not None:
            hear((message, rest))

    def _fail(self, why: str) -> None:
        """Ends all that is waited for. `why`: what was wrong with the connection; "" if nothing was."""
        ended = f"the sandbox has ended: {why or self.errors or 'its processes were killed'}"
        self._gone = self._gone or SandboxGone("the sandbox was closed" if self._is_closing else ended)
        for future in self._asked.values():
            if not future.done():
                future.set_exception(SandboxGone(str(self._gone)))
        for hear in self._programs.values():
            hear(SandboxGone(str(self._gone)))
        self._programs.clear()


def _settle(future: asyncio.Future[Answer], message: dict[str, Any], rest: bytes) -> None:
    if "refused" in message:
        future.set_exception(SandboxRefused(message["refused"]))
    elif message.get("errno") is not None:
        future.set_exception(OSError(message["errno"], os.strerror(message["errno"])))
    elif "failed" in message:
        future.set_exception(SandboxGone(f"the sandbox could not do it: {message['failed']}"))
    else:
        future.set_result((message, rest))
