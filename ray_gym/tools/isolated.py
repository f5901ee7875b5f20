"""Runs each call of an isolated tool in a process of its own, on a copy of the state.

The process is forked from a zygote (`ray_gym.tools.zygote`), which has imported the environment. A zygote carries out
one call at a time and is reused. A worker carries out as many calls at once as it has CPUs, by default; others wait. If
a call is cancelled or late, its zygote is killed, with everything that it started.
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
from ray_gym.errors import EpisodeFailure, FailureKind, code_place, describe
from ray_gym.tools.answer import ToolError, within
from ray_gym.tools.frames import LENGTH
from ray_gym.tools.pickled import pickled

START_DEADLINE_S = 60.0
"""Seconds for a zygote to start and to import the environment's module."""
END_DEADLINE_S = 2.0
"""Seconds for a zygote to kill itself and the processes that it started; after that this process kills its process
group.
"""
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
    """Says that the code of an isolated call raised an unexpected exception, or that its process died. Its zygote could
    be started, so another call may succeed.
    """


class IsolatedPool:
    """Keeps zygotes, the processes that isolated calls are forked from. The pools of a worker share its `slots`, one
    for each call at a time. Nothing is started before the first call.
    """

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
        self._idle: list[_Zygote] = []
        self._all: set[_Zygote] = set()

    async def run(self, environment: Any, call: IsolatedCall, deadline_s: float) -> str:
        """Carries out a call, and returns the tool's answer as text. Waits for a slot or a zygote count neither towards
        `deadline_s` nor towards the episode's time.

        Errors: ToolError and EpisodeFailure as the tool raised them; TimeoutError after the deadline; CallFailed
        (environment) for all other errors in the call's process; EpisodeFailure (environment) if no process could be
        started for it; TypeError if the state or the environment can't be pickled.
        """
        request = _pack_call(environment, call)
        clock = running_clock()
        with clock.count_wait():
            await self._slots.acquire()
        try:
            with clock.count_wait():
                zygote = await self._take_zygote(environment, call.method)
            with clock.count_work():
                reply = await self._ask(zygote, request, call.method, deadline_s)
        finally:
            self._slots.release()
        return _read_reply(call.method, reply, _place_of(environment, call.method))

    async def _ask(self, zygote: _Zygote, request: bytes, method: str, deadline_s: float) -> list[str]:
        """Sends a call to a zygote, and returns the reply. A zygote that answered in time is idle again; any other is
        killed.

        Errors: TimeoutError after `deadline_s` seconds; CallFailed if the zygote is gone.
        """
        try:
            reply = await within(zygote.ask(request), deadline_s)
        except BaseException as error:
            await self._end(zygote)
            if isinstance(error, EOFError | ConnectionError):
                place = _place_of(zygote.environment, method)
                raise _call_failed(method, "the process that it is forked from is gone (killed?)", place) from error
            raise
        self._idle.append(zygote)
        return reply

    async def close(self) -> None:
        """Kills all zygotes of this pool, also those that carry out calls."""
        await asyncio.gather(*(self._end(zygote) for zygote in list(self._all)))

    async def _take_zygote(self, environment: Any, tool: str) -> _Zygote:
        """Returns an idle zygote that has loaded this environment, or starts one. Idle zygotes that are dead, or have
        loaded another environment, are ended.

        Errors: EpisodeFailure (environment) if a zygote can't be started, or can't load the environment; TypeError if
        the environment can't be pickled.
        """
        while self._idle:
            zygote = self._idle.pop()
            if zygote.is_alive and zygote.environment is environment:
                return zygote
            await self._end(zygote)
        zygote = await _Zygote.start(environment)
        self._all.add(zygote)
        try:
            async with asyncio.timeout(START_DEADLINE_S):
                reply = await zygote.ask(_pickle(environment, "the environment", _is_script(environment)))
            if reply[0] != "answer":
                raise _failure(tool, f"its process could not be set up: {reply[-1]}")
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
"""Environment variables of all zygotes. With them, sets of strings have the same order in every zygote, so that code
that depends on it does the same on every worker.
"""


class _Zygote:
    """Holds a zygote process, and the worker's end of the socket to it."""

    def __init__(self, environment: Any, process: Process, here: socket.socket) -> None:
        self.environment = environment
        self._process = process
        self._here = here

    @classmethod
    async def start(cls, environment: Any) -> _Zygote:
        """Starts a zygote that has not loaded the environment yet. It ends by itself when its socket is closed, also if
        this coroutine is cancelled.
        """
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
        """Sends a request, and returns the parts of the reply. Errors: EOFError or OSError if the process is gone."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._here, LENGTH.pack(len(request)) + request)
        size = LENGTH.unpack(await self._read_exactly(LENGTH.size))[0]
        reply: list[str] = json.loads(await self._read_exactly(size))
        return reply

    async def _read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = await asyncio.get_running_loop().sock_recv(self._here, min(size - len(data), 2**20))
            if not chunk:
                raise EOFError("the connection was closed")
            data += chunk
        return bytes(data)

    async def end(self) -> None:
        """Ends the process: closes the connection, upon which the process kills itself and what it started. If the
        process is not dead after `END_DEADLINE_S` seconds, kills its process group.
        """
        with contextlib.suppress(OSError):
            self._here.shutdown(socket.SHUT_RDWR)  # not closed yet, so that a call that waits for it gets an error
        try:
            async with asyncio.timeout(END_DEADLINE_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._here.close()


def process_slots(count: int | None = None) -> asyncio.Semaphore:
    """Returns the semaphore for the isolated calls of a worker: `count` slots, or by default one for each CPU that this
    process may use.
    """
    return asyncio.Semaphore(count or _cpus())


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pack_call(environment: Any, call: IsolatedCall) -> bytes:
    """Encodes a call as a pickle. The state and the arguments are a pickle inside the pickle, which is decoded only
    after the limit of memory is set. Errors: TypeError if they can't be pickled.
    """
    arguments = _pickle((call.state, call.caller, call.values), "the state", _is_script(environment))
    return pickle.dumps((call.method, call.memory_mb, arguments))


def _is_script(environment: Any) -> bool:
    return type(environment).__module__ == "__main__"


def _pickle(value: Any, what: str, is_script: bool) -> bytes:
    """Encodes a value as a pickle, by reference to its classes, or by value if the other process can't import them
    (those of a script, for which `is_script` is True). `what` names the value in errors.

    Errors: TypeError for a value that can't be pickled.
    """
    try:
        return pickled(value, by_value=is_script)
    except Exception as error:
        raise TypeError(f"{what} can't be pickled, which an isolated tool needs: {describe(error)}") from error


def _failure(tool: str, message: str) -> EpisodeFailure:
    return EpisodeFailure(FailureKind.ENVIRONMENT, f"tool {tool}", message)


def _call_failed(tool: str, message: str, place: str = "", traceback: str = "") -> CallFailed:
    """Returns the failure of a call. `place`: file and line, after a space and in brackets."""
    return CallFailed(FailureKind.ENVIRONMENT, f"tool {tool}{place}", message, traceback=traceback)


def _place_of(environment: Any, method: str) -> str:
    """Returns file and line of a tool's method, after a space and in brackets."""
    return code_place(getattr(type(environment), method, None))


def _read_reply(tool: str, reply: list[str], place: str = "") -> str:
    """Returns the text of an answer. `place`: file and line of the tool, after a space and in brackets.

    Errors, for other replies: ToolError or EpisodeFailure as the tool raised it; CallFailed if it raised something
    else, or its process died.
    """
    match reply:
        case ["answer", text]:
            return text
        case ["refused", message, *content]:
            raise ToolError(message, *content)
        case ["failure", kind, where, message, traceback]:
            raise EpisodeFailure(FailureKind(kind), where, message, traceback=traceback)
        case ["raised", message, *raised_at]:
            raise _call_failed(tool, message, *raised_at)
        case ["died", how]:
            raise _call_failed(tool, f"its process {how} before it had answered", place)
    raise _call_failed(tool, f"its process gave no answer but {reply!r:.200}", place)
