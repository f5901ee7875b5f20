"""Runs as a zygote, the process that isolated tools are forked from. It has imported the environment's module once, so
that a call costs milliseconds.

It reads calls from one socket and forks a child for each, one at a time: no call sees another's changes of module
globals. The child's answer comes back as JSON, not as a pickle: the worker never unpickles bytes that a tool's process
wrote.

No process outlives the worker. The worker's death closes the socket (and the kernel sends a signal), upon which the
zygote kills its descendants and its process group; a child dies with its zygote. Processes that a tool left behind are
killed when its call ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import inspect
import json
import os
import pickle
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, NoReturn

from ray_gym.errors import EpisodeFailure, Failure, code_place, describe, placed
from ray_gym.tools.answer import ToolError, as_text
from ray_gym.tools.frames import ZygoteReply, receive, send

CHUNK = 2**16
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(descriptor: int, worker: int) -> None:
    """Carries out the calls that come by the socket with this file descriptor, until the process `worker` (its PID)
    closes the other end or dies; then this process kills itself. The first frame is the pickled environment.

    Errors: RuntimeError if this process does not lead its process group.
    """
    if os.getpgid(0) != os.getpid():
        raise RuntimeError("a zygote kills its process group when it ends, so it must lead one of its own")
    _die_with_parent(worker, signal.SIGKILL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    channel = socket.socket(fileno=descriptor)
    try:
        environment = pickle.loads(receive(channel))
    except EOFError:
        _end()
    except BaseException as error:
        send(channel, ["raised", placed(error)])
        _end()
    signal.signal(signal.SIGTERM, lambda *_: _end())
    _die_with_parent(worker, signal.SIGTERM)  # from now on it may have children, which it has to kill as well
    spared = _children()  # processes that the environment's module started are for all calls
    send(channel, ["answer", "ready"])
    with contextlib.suppress(EOFError, OSError):
        while True:
            call = receive(channel)
            reply = _run_call(environment, call, channel)
            _kill_children(spared)
            send(channel, reply)
    _end()


def _run_call(environment: Any, call: bytes, channel: socket.socket) -> ZygoteReply:
    """Forks a child that carries out the call, and returns its reply; if the child died without one, a reply that tells
    how. Errors: EOFError if the worker closes the socket meanwhile.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    zygote, child = os.getpid(), os.fork()
    if child == 0:
        channel.close()
        os.close(reader)
        _run_child(zygote, environment, call, writer)
    os.close(writer)
    try:
        answered = _read_until_dead(reader, child, channel)
    finally:
        os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ValueError, TypeError):
        return [str(part) for part in json.loads(answered)]
    return ["died", f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with code {status}"]


def _read_until_dead(reader: int, child: int, channel: socket.socket) -> bytes:
    """Returns all that the child writes until it is dead. The end of the pipe would not do: it may stay open in a
    process that the child left behind. Errors: EOFError if the worker closes the socket meanwhile.
    """
    death = os.pidfd_open(child)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(reader, select.POLLIN)
    poll.register(death, select.POLLIN)
    os.set_blocking(reader, False)
    read = bytearray()
    try:
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if channel.fileno() in ready:  # the worker sends nothing during a call, so it has closed the socket
                raise EOFError
            chunk = b""
            with contextlib.suppress(BlockingIOError):
                chunk = os.read(reader, CHUNK)
                if not chunk and reader in ready:
                    poll.unregister(reader)
            read += chunk
            if death in ready and not chunk:
                return bytes(read)
    finally:
        os.close(death)


# ---- in the child ----


def _run_child(zygote: int, environment: Any, call: bytes, writer: int) -> NoReturn:
    """Carries out the call, writes the reply to the pipe, and exits. Inherited exit handlers are not run."""
    code = 1
    try:
        _die_with_parent(zygote, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            # if the node's memory runs out, the kernel kills this process before the worker
            Path("/proc/self/oom_score_adj").write_text("1000", "utf-8")
        reply = json.dumps(_call(environment, call)).encode()
        sys.stdout.flush()
        sys.stderr.flush()
        while reply:
            reply = reply[os.write(writer, reply) :]
        code = 0
    finally:
        os._exit(code)


def _call(environment: Any, call: bytes) -> ZygoteReply:
    method, memory_mb, arguments = pickle.loads(call)
    code = getattr(type(environment), method, None)
    try:
        state, caller, values = pickle.loads(arguments)
        if memory_mb is not None:
            _limit_memory(memory_mb)
        result = getattr(environment, method)(state, caller, **values)
        return ["answer", as_text(asyncio.run(_await(result)) if inspect.isawaitable(result) else result)]
    except ToolError as error:
        return ["refused", str(error), *([] if error.content is None else [error.content])]
    except EpisodeFailure as error:
        failure = error.failure
        return ["failure", failure.kind.value, failure.where, failure.message, failure.traceback]
    except MemoryError as error:
        traceback.clear_frames(error.__traceback__)  # they hold the objects that filled the memory
        limit = f" (memory_mb is {memory_mb})" if memory_mb is not None else ""
        return ["raised", f"{describe(error)}{limit}", code_place(code), ""]
    except BaseException as error:
        failure = Failure.of(error, "", code=code)
        return ["raised", failure.message, failure.where, failure.traceback]


async def _await(result: Awaitable[Any]) -> Any:
    return await result


def _limit_memory(memory_mb: int) -> None:
    """Limits the memory of this process to `memory_mb` megabytes more than it has already: authors of tools can't know
    how much the imports take.

    A limit of the address space alone would be loose: allocators have reserved some of it, and data may grow into that.
    """
    sizes = [int(pages) * resource.getpagesize() for pages in Path("/proc/self/statm").read_text("utf-8").split()]
    for kind, size in ((resource.RLIMIT_AS, sizes[0]), (resource.RLIMIT_DATA, sizes[5])):
        limit = size + memory_mb * 2**20
        resource.setrlimit(kind, (limit, limit))


# ---- ends ----


def _die_with_parent(parent: int, signal_: signal.Signals) -> None:
    """Asks the kernel to send `signal_` to this process when its parent dies. Exits at once if `parent` is not its
    parent any more.
    """
    _prctl(_PR_SET_PDEATHSIG, signal_)
    if os.getppid() != parent:  # it died before the call of prctl
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _end() -> NoReturn:
    """Kills all processes that this process has started, its process group, and itself."""
    _kill_children(frozenset())
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _children() -> frozenset[int]:
    return frozenset(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text("utf-8").split()))


def _kill_children(spared: frozenset[int]) -> None:
    """Kills the processes that a call left behind, except the `spared` ones. It finds also those of other process
    sessions: orphans become children of this process, which is a subreaper.
    """
    while doomed := _children() - spared:
        for child in doomed:
            os.kill(child, signal.SIGKILL)
        for child in doomed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
