"""Which of its connections to an endpoint a worker uses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ray_gym.models.endpoint import Endpoint, EndpointOptions

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Server:
    """Keeps every request until it is told to answer it. Connections are numbered as they come."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[int, asyncio.StreamWriter]] = asyncio.Queue()
        self._connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._connections = self._connections, self._connections + 1
        while head := await _head(reader):
            length = next(line for line in head.splitlines() if line.lower().startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            self.asked.put_nowait((number, writer))
        writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def served(play: Callable[[Server, Endpoint], Awaitable[None]]) -> None:
    double = Server()
    async with asyncio.timeout(10), await asyncio.start_server(double.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        endpoint = Endpoint(EndpointOptions(base_url=f"http://127.0.0.1:{port}/v1", model="double"), None)
        try:
            await play(double, endpoint)
        finally:
            await endpoint.close()


async def test_what_was_used_last_is_used_again() -> None:
    async def play(double: Server, endpoint: Endpoint) -> None:
        calls = [asyncio.create_task(endpoint.post("/ask", {}, "s", len)) for _ in range(3)]
        opened = dict([await double.asked.get() for _ in calls])
        assert set(opened) == {0, 1, 2}
        for number in (2, 0, 1):
            opened[number].write(ANSWER)
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            calls = [call for call in calls if not call.done()]
        for _ in range(3):
            call = asyncio.create_task(endpoint.post("/ask", {}, "s", len))
            number, writer = await double.asked.get()
            assert number == 1
            writer.write(ANSWER)
            assert await call == len("{}")

    await served(play)
