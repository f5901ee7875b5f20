"""Programs reach the worker's door, a Unix socket, at an address of their own loopback."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sandboxes import SMALL, opened, until

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
MANY = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
host, port = sys.argv[1].removeprefix("http://").split(":")
def call(number):
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"%d\\n" % number)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()
with ThreadPoolExecutor(20) as threads:
    print(all(got == b"%d\\n" % number for number, got in enumerate(threads.map(call, range(200)))))
"""
LARGE = """
import hashlib, socket, sys
host, port = sys.argv[1].removeprefix("http://").split(":")
connection = socket.create_connection((host, int(port)))
connection.sendall(bytes(range(256)) * 80_000)
connection.shutdown(socket.SHUT_WR)
print(hashlib.sha256(connection.makefile("rb").read()).hexdigest())
"""


@asynccontextmanager
async def door(folder: Path, handler: Handler) -> AsyncIterator[Path]:
    """Serves a door at a short path, as the kernel takes no long ones."""
    path = folder / "door"
    here = Path.cwd()
    os.chdir(folder)
    server = await asyncio.start_unix_server(handler, "door", backlog=64)
    os.chdir(here)
    async with server:
        yield path


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    data = await reader.read(-1)
    writer.write(data)
    await writer.drain()
    writer.close()


@pytest.mark.agents
async def test_calls_reach_the_door_many_at_once_and_large_ones_whole(kind: str, tmp_path: Path) -> None:
    async with (
        door(tmp_path, echo) as path,
        opened(kind, SMALL.model_copy(update={"memory_mb": 256}), path) as sandbox,
    ):
        assert sandbox.door_url is not None and sandbox.door_url.startswith("http://127.0.0.1:")
        end = await sandbox.run(["python3", "-c", MANY, sandbox.door_url])
        assert end.stdout == b"True\n", end
        end = await sandbox.run(["python3", "-c", LARGE, sandbox.door_url])
        assert end.stdout.decode().strip() == hashlib.sha256(bytes(range(256)) * 80_000).hexdigest()


@pytest.mark.agents
async def test_the_door_hears_when_a_caller_is_gone(kind: str, tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(100):
            pass
        ended.set()
        writer.close()

    call = "import socket, sys, time\nat = sys.argv[1].split(':')[2]\nconnection = socket.create_connection(('127.0.0.1', int(at)))\n"
    async with door(tmp_path, wait) as path, opened(kind, door=path) as sandbox:
        program = await sandbox.start(
            ["python3", "-c", f"{call}print(1, flush=True)\ntime.sleep(99)", sandbox.door_url or ""]
        )
        assert await anext(program.output()) == b"1\n"
        await program.kill(now=True)
        await until(ended.is_set, "the door hears it")


async def test_a_call_reaches_the_door(kind: str, tmp_path: Path) -> None:
    async with door(tmp_path, echo) as path, opened(kind, door=path) as sandbox:
        end = await sandbox.run(["python3", "-c", LARGE.replace("80_000", "8"), sandbox.door_url or ""])
        assert end.stdout.decode().strip() == hashlib.sha256(bytes(range(256)) * 8).hexdigest()


@pytest.mark.agents
async def test_without_a_door_nothing_listens(kind: str) -> None:
    async with opened(kind) as sandbox:
        assert sandbox.door_url is None


@pytest.mark.agents
async def test_a_door_that_is_gone_refuses_and_the_sandbox_goes_on(kind: str, tmp_path: Path) -> None:
    async with door(tmp_path, echo) as path, opened(kind, door=path) as sandbox:
        path.unlink()
        end = await sandbox.run(["python3", "-c", LARGE, sandbox.door_url or ""])
        assert end.exit_code == 1 or end.stdout  # bubblewrap holds the socket itself
        assert (await sandbox.run(["true"])).exit_code == 0
