"""Answers each request with exactly the given bytes, at the given time, on real sockets and on either event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import uvloop

from ray_gym.engines.http1.connection import HttpResponse
from ray_gym.engines.http1.pool import Pool

LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop, uvloop.new_event_loop]
"""Workers have uvloop's."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@dataclass(slots=True)
class Asked:
    """Holds a request that has arrived on the connection with this number, counted from 0."""

    connection: int
    head: str
    body: bytes
    writer: asyncio.StreamWriter

    def say(self, *pieces: bytes, hang_up: bool = False) -> None:
        for piece in pieces:
            self.writer.write(piece)
        if hang_up:
            self.writer.close()


class RawServer:
    def __init__(self) -> None:
        self.asked: asyncio.Queue[Asked] = asyncio.Queue()
        self.left: asyncio.Queue[int] = asyncio.Queue()
        """Connections that the client has closed."""
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.writers)
        self.writers.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lengths = [line for line in head.splitlines() if line.lower().startswith("content-length:")]
                body = await reader.readexactly(int(lengths[0].split(":")[1]))
                self.asked.put_nowait(Asked(number, head, body, writer))
        except (asyncio.IncompleteReadError, OSError):
            self.left.put_nowait(number)
        finally:
            writer.close()


Play = Callable[[RawServer, Pool], Awaitable[None]]


def played(
    play: Play,
    make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    host: str = "127.0.0.1",
    server_tls: ssl.SSLContext | None = None,
    **limits: Any,
) -> None:
    """Plays with a server at 127.0.0.1 that the pool knows by the name of `host`."""

    async def play_it() -> None:
        double = RawServer()
        server = await asyncio.start_server(double.serve, "127.0.0.1", 0, ssl=server_tls)
        port = server.sockets[0].getsockname()[1]
        scheme = "http" if server_tls is None else "https"
        given = {"limit": 64, "connect_s": 5.0, "silence_s": 60.0, **limits}
        pool = Pool(f"{scheme}://{host}:{port}/v1", {"Authorization": "Bearer key"}, **given)
        try:
            async with asyncio.timeout(20):
                await play(double, pool)
        finally:
            await pool.close()
            server.close()
            for writer in double.writers:
                writer.close()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(play_it())


def ask(pool: Pool, body: bytes = b"{}") -> asyncio.Task[HttpResponse]:
    return asyncio.create_task(pool.post("/ask", {"X-Session-Id": "s"}, body))


async def answered(double: RawServer, pool: Pool, *pieces: bytes, hang_up: bool = False) -> tuple[int, HttpResponse]:
    """One whole call: on which connection, and what came of it."""
    call = ask(pool)
    asked = await double.asked.get()
    asked.say(*pieces, hang_up=hang_up)
    return asked.connection, await call
