"""Runs each call of an isolated tool in a process of its own, on a copy of the state. `ray_gym.tools.zygote` is the
other end.

A zygote carries out one call at a time and is used again; as many run at once in a worker as there are CPUs, and other
calls wait. A call that is cancelled or late takes its zygote with it, and everything that the zygote started.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from dataclasses import dataclass
from typing import Any

from ray_gym.aio.clock import running_clock
from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.tools.answer import ToolError, within
from ray_gym.tools.frames import LENGTH

START_DEADLINE_S = 60.0
"""Seconds for a zygote's imports."""
END_DEADLINE_S = 2.0
"""Seconds for a zygote to kill the processes that it started and itself; after that its process group is killed from
here."""
_START = "import sys; sys.path[:] = sys.argv[3:]; from ray_gym.tools.zygote import main; main(*map(int, sys.argv[1:3]))"


@dataclass(frozen=True, slots=True)
class IsolatedCall:
    """Describes one call of a tool: the method, its arguments, and how much memory it may take (None: no limit)."""

    method: str
    state: Any
    caller: Any
    values: dict[str, Any]
    memory_mb: int | None = None


class CallFailed(EpisodeFailure):
    """A call raised, or took its process with it. The process that calls are forked from was there; another call may go
    well.
    """


class IsolatedPool:
    """Keeps the zygotes of one worker, whose pools share its `slots`. Nothing is started before the first call."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
        self._idle: list[_Zygote] = []
        self._all: set[_Zygote] = set()

    async def run(self, environment: Any, call: IsolatedCall, deadline_s: float) -> str:
        """Carries a call out, and returns the tool's answer as text. The deadline is the call's own: neither it nor the
        episode pays for waiting, or for the start of a zygote.

        Errors: ToolError and EpisodeFailure as the tool raised them; TimeoutError; `CallFailed` (environment) for all
        else that goes wrong in there; EpisodeFailure (environment) if no process could be started for it.
        """
        request = _packed(environment, call)
        clock = running_clock()
        with clock.count_wait():
            await self._slots.acquire()
        try:
            with clock.count_wait():
                zygote = await self._zygote_for(environment, call.method)
            with clock.count_work():
                reply = await self._ask(zygote, request, call.method, deadline_s)
        finally:
            self._slots.release()
        return _answer(call.method, reply)

    async def _ask(self, zygote: _Zygote, request: bytes, method: str, deadline_s: float) -> list[str]:
        """Asks a zygote, which is idle again once it has answered."""
        try:
            reply = await within(zygote.ask(request), deadline_s)
        except BaseException as error:
            await self._end(zygote)
            if isinstance(error, EOFError | ConnectionError):
                raise _call_failed(method, "the process that it is forked from is gone (killed?)") from error
            raise
        self._idle.append(zygote)
        return reply

    async def close(self) -> None:
        """Ends all processes, also of calls that are being carried out."""
        await asyncio.gather(*(self._end(zygote) for zygote in list(self._all)))

    async def _zygote_for(self, environment: Any, tool: str) -> _Zygote:
        while self._idle:
            zygote = self._idle.pop()
            if zygote.is_alive and zygote.environment is environment:
                return zygote
            await self._end(zygote)
        zygote = await _Zygote.start(environment)
        self._all.add(zygote)
        try:
            async with asyncio.timeout(START_DEADLINE_S):
                reply = await zygote.ask(_pickled(environment, "the environment", _is_script(environment)))
            if reply[0] != "answer":
                raise _failure(tool, f"its process could not load the environment: {reply[-1]}")
        except BaseException as error:
            await self._end(zygote)
            if isinstance(error, EOFError | OSError):  # a TimeoutError too
                raise _failure(tool, f"its process could not be started: {describe(error)}") from error
            raise
        return zygote

    async def _end(self, zygote: _Zygote) -> None:
        self._all.discard(zygote)
        if zygote in self._idle:
            self._idle.remove(zygote)
        await asyncio.shield(zygote.end())


_SAME_EVERYWHERE = {"PYTHONHASHSEED": "0"}
"""Environment variables of all zygotes. Sets of strings have the same order in every such process, so that code which
goes by it gives the same on every worker."""


class _Zygote:
    """Holds this end of a zygote process."""

    def __init__(self, environment: Any, process: Process, here: socket.socket) -> None:
        self.environment = environment
        self._process = process
        self._here = here

    @classmethod
    async def start(cls, environment: Any) -> _Zygote:
        """Starts a zygote. It ends by itself when its socket is closed, so nothing is lost if this is cancelled."""
        here, there = socket.socketpair()
        here.setblocking(False)
        arguments = [str(there.fileno()), str(os.getpid()), *sys.path]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _START, *arguments,
                stdin=DEVNULL, pass_fds=[there.fileno()], start_new_session=True,
                env={**os.environ, **_SAME_EVERYWHERE},
            )  # fmt: skip
        except BaseException:
            here.close()
            raise
        finally:
            there.close()
        return cls(environment, process, here)

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, request: bytes) -> list[str]:
        """Sends a request and reads the reply. Errors: EOFError or OSError when the process is gone."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._here, LENGTH.pack(len(request)) + request)
        size = LENGTH.unpack(await self._exactly(LENGTH.size))[0]
        reply: list[str] = json.loads(await self._exactly(size))
        return reply

    async def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = await asyncio.get_running_loop().sock_recv(self._here, min(size - len(data), 2**20))
            if not chunk:
                raise EOFError("the connection was closed")
            data += chunk
        return bytes(data)

    async def end(self) -> None:
        """Ends the process: the end of the connection makes it kill what it started, and itself; its group is killed
        from here if it doesn't.
        """
        with contextlib.suppress(OSError):
            self._here.shutdown(socket.SHUT_RDWR)  # closed only later: a call that still waits on it must notice
        try:
            async with asyncio.timeout(END_DEADLINE_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._here.close()


def process_slots(count: int | None = None) -> asyncio.Semaphore:
    """Makes the slots for isolated calls; by default as many as there are CPUs that this process may use, where the
    system tells.
    """
    return asyncio.Semaphore(count or _cpus())


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _packed(environment: Any, call: IsolatedCall) -> bytes:
    """Pickles a call. The state and the arguments are a pickle inside the pickle, which is read when the memory is
    limited already.
    """
    arguments = _pickled((call.state, call.caller, call.values), "the state", _is_script(environment))
    return pickle.dumps((call.method, call.memory_mb, arguments))


def _is_script(environment: Any) -> bool:
    return type(environment).__module__ == "__main__"


def _pickled(value: Any, what: str, is_script: bool) -> bytes:
    """Encodes a value as a pickle, by reference to its classes; by value only where the other process could not import
    them.

    Errors: TypeError for a value that can't be pickled.
    """
    try:
        if not is_script:
            with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
                return pickle.dumps(value)
        from ray import cloudpickle

        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise TypeError(f"{what} can't be pickled, which an isolated tool needs: {describe(error)}") from error


def _failure(tool: str, message: str) -> EpisodeFailure:
    return EpisodeFailure(FailureKind.ENVIRONMENT, f"tool {tool}", message)


def _call_failed(tool: str, message: str) -> CallFailed:
    return CallFailed(FailureKind.ENVIRONMENT, f"tool {tool}", message)


def _answer(tool: str, reply: list[str]) -> str:
    match reply:
        case ["answer", text]:
            return text
        case ["refused", message, *content]:
            raise ToolError(message, *content)
        case ["failure", kind, where, message]:
            raise EpisodeFailure(FailureKind(kind), where, message)
        case ["raised", message]:
            raise _call_failed(tool, message)
        case ["died", how]:
            raise _call_failed(tool, f"its process {how} before it had answered")
    raise _call_failed(tool, f"its process gave no answer but {reply!r:.200}")
