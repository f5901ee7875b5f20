"""Answers that are read slowly, or not at all, through a proxy that holds nothing back, as Serve's does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from ray.serve._private.http_util import MessageQueue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from ray_gym.deployments.gateway.guards import pace
from ray_gym.deployments.gateway.guards.pace import PACED, PIECE_BYTES, WINDOW_BYTES, Meter, PacedAnswers

CHUNK = b"x" * 100_000
CHUNKS = 60
Way = Callable[[], Awaitable[None]]


class Connection:
    """A client takes what is sent to it while it reads, and leaves when it is told to."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.gone = asyncio.Event()
        self.body = b""
        self.largest = 0

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        body = message.get("body", b"")
        self.body += body
        self.largest = max(self.largest, len(body))

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}


class Replica:
    """A replica runs an application, and counts the bytes that it made."""

    def __init__(self) -> None:
        self.made = 0
        self.ended = asyncio.Event()
        self.app: ASGIApp = PacedAnswers(Starlette(routes=[Route("/stream", self._stream), Route("/page", self._page)]))

    async def _stream(self, _: Request) -> Response:
        return StreamingResponse(self._chunks())

    async def _page(self, _: Request) -> Response:
        self.made = CHUNKS * len(CHUNK)
        return Response(CHUNK * CHUNKS)

    async def _chunks(self) -> AsyncIterator[bytes]:
        for _ in range(CHUNKS):
            self.made += len(CHUNK)
            yield CHUNK


async def through_serve(replica: Replica, connection: Connection, path: str, waiting: list[int] | None = None) -> None:
    """Plays a request through queues without a bound, both ways, as Serve's proxy and replica do. `waiting` is told how
    much waits in the proxy.
    """
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    scope |= {"asgi": {"version": "3.0", "spec_version": "2.3"}, PACED: True}
    meter = Meter(connection.receive, connection.send)
    upwards: asyncio.Queue[Message] = asyncio.Queue()
    downwards = MessageQueue()
    under_way = 0

    async def send(message: Message) -> None:
        nonlocal under_way
        under_way += len(message.get("body", b""))
        if waiting is not None:
            waiting.append(under_way)
        await downwards(message)

    async def listen() -> None:
        while (message := await meter.receive())["type"] != "http.disconnect":
            upwards.put_nowait(message)
        upwards.put_nowait(message)

    async def play() -> None:
        await replica.app(scope, upwards.get, send)
        downwards.close()
        replica.ended.set()

    async with asyncio.TaskGroup() as group:
        listening, playing = group.create_task(listen()), group.create_task(play())
        while not (playing.done() and not downwards._message_queue):
            await downwards.wait_for_message()
            for message in downwards.get_messages_nowait():
                await meter.send(message)
                under_way -= len(message.get("body", b""))
            await asyncio.sleep(0)
        listening.cancel()
    await meter.close()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110  nothing tells of it
        await asyncio.sleep(0)


@pytest.mark.parametrize("path", ["/stream", "/page"])
async def test_a_client_that_does_not_read_holds_the_replica_back(path: str) -> None:
    replica, connection, waiting = Replica(), Connection(), list[int]()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(through_serve(replica, connection, path, waiting))
        await until(lambda: max(waiting, default=0) >= WINDOW_BYTES)
        for _ in range(200):
            await asyncio.sleep(0)
        assert waiting[-1] <= WINDOW_BYTES + PIECE_BYTES
        if path == "/stream":
            assert replica.made < WINDOW_BYTES + 3 * len(CHUNK)
        connection.reads.set()
    assert connection.body == CHUNK * CHUNKS and connection.largest <= PIECE_BYTES
    assert max(waiting) <= WINDOW_BYTES + PIECE_BYTES


async def test_who_takes_nothing_for_long_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "STALLED_S", 0.05)
    replica, connection = Replica(), Connection()
    async with asyncio.timeout(10):
        await through_serve(replica, connection, "/stream")
    assert replica.ended.is_set() and replica.made < CHUNKS * len(CHUNK)


async def test_who_goes_while_the_replica_waits_ends_it() -> None:
    replica, connection = Replica(), Connection()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        playing = group.create_task(through_serve(replica, connection, "/stream"))
        await until(lambda: replica.made >= WINDOW_BYTES)
        connection.gone.set()
        await replica.ended.wait()
        playing.cancel()
    assert replica.made < CHUNKS * len(CHUNK)


async def test_who_is_gone_stays_so() -> None:
    connection = Connection()
    connection.gone.set()
    meter = Meter(connection.receive, connection.send)
    async with asyncio.timeout(10):
        assert [(await meter.receive())["type"] for _ in range(3)] == ["http.disconnect"] * 3
    await meter.close()


async def test_under_a_proxy_that_tells_nothing_nobody_waits() -> None:
    sent: list[Message] = []
    replica = Replica()
    scope = {"type": "http", "method": "GET", "path": "/page", "headers": [], "query_string": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    async with asyncio.timeout(10):
        await replica.app(scope, Connection().receive, send)
    assert [len(message.get("body", b"")) for message in sent] == [0, CHUNKS * len(CHUNK)]
