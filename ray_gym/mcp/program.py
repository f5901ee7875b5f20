"""Runs a server that speaks on its standard input and output, for one MCP client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray_gym.errors import describe
from ray_gym.half_pairs import without_halves
from ray_gym.printable import beginning

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MOST_LINE = 64 * 2**20
"""Most bytes of one message of a server."""
MOST_NOISE = 1000
"""Most lines of a server's standard output that are no message."""
TOLD_BYTES = 4096
"""Bytes that are kept of what a server prints as errors: the last ones."""
END_S = 2.0
"""Seconds for a server to end once its input is closed; then it gets SIGTERM, and after as long again SIGKILL."""
INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
START = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: {error.strerror}")
"""
"""Program that becomes the server. The kernel kills it when its worker dies."""


class ServerProgram:
    """Holds the process of a server, and remembers what it printed that is no message."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._errors = bytearray()
        self._noise = ""
        self._problem = ""

    @property
    def story(self) -> str:
        """Returns what is known of the server's end or its silence: its exit code, and the last that it printed."""
        code = self._process.returncode
        parts = [self._problem] if self._problem else []
        if code is not None:
            parts.append(f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}")
        if errors := self._errors.decode(errors="replace").strip():
            parts.append(f"it printed as errors: {errors[-1000:]}")
        if self._noise:
            parts.append(f"it printed what is no message: {self._noise!r}")
        return "; ".join(parts)

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """Gives the client its messages, until the server ends or the block does; then the server is ended."""
        import anyio
        from mcp.shared.message import SessionMessage

        heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, said = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [asyncio.create_task(part) for part in (self._hear(heard), self._say(said, heard), self._read_errors())]
        try:
            async with heard, read, write, said:
                yield read, write
        finally:
            await asyncio.shield(self._end())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    while await self._stdout.read(2**16):  # or its pipe would stay open
                        pass

    async def _hear(self, heard: Any) -> None:
        """Reads the server's messages, a line each, until it ends. Lines that are none are left out."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        noisy = 0
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            try:
                while line := await self._stdout.readline():
                    try:
                        whole = without_halves(line.decode("latin-1")).encode("latin-1")
                        message = jsonrpc_message_adapter.validate_json(whole, by_name=False)
                    except ValueError:
                        self._noise = self._noise or beginning(line.decode(errors="replace"), 200).strip()
                        noisy += 1
                        if noisy > MOST_NOISE:
                            self._problem = f"it printed more than {MOST_NOISE:,} lines that are no message"
                            break
                        await asyncio.sleep(0)  # lines that have arrived are read without a wait
                        continue
                    await heard.send(SessionMessage(message))
            except ValueError:
                self._problem = f"it sent a line of more than {MOST_LINE:,} bytes"
            if not self._problem:
                with contextlib.suppress(TimeoutError):  # so that its end can be told
                    await asyncio.wait_for(self._process.wait(), END_S)
        await heard.aclose()

    async def _say(self, said: Any, heard: Any) -> None:
        """Writes the client's messages, until the server takes no more."""
        try:
            async for message in said:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._stdin.write(text.encode() + b"\n")
                await self._stdin.drain()
        except (ConnectionError, RuntimeError):
            await heard.aclose()

    async def _read_errors(self) -> None:
        while data := await self._stderr.read(2**16):
            self._errors += data
            del self._errors[:-TOLD_BYTES]

    async def _end(self) -> None:
        """Ends the server, with all of its process group."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await self._process.wait()
                break
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def start_program(command: tuple[str, ...], env: Mapping[str, str], folder: str | None) -> ServerProgram:
    """Starts a server; its `python3` is that of this worker. Errors: OSError, with words of its own, if it can't be."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    inherited["PATH"] = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", START, str(os.getpid()), *command,
            stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MOST_LINE, env={**inherited, **env}, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise OSError(f"it can't be started: {describe(error)}") from None
    return ServerProgram(process)
