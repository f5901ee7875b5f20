"""Limits how far an answer may be ahead of its reader (flow control). Serve does not limit it: its proxy buffers all
that a client has not read yet.

Both ends are here. In the proxy, `Meter` sends the replica a message, as if it came from the client, with the number of
bytes that the connection has taken. In the replica, `PacedAnswers` waits while `WINDOW_BYTES` or more are in flight.

Measured with eight clients that each read a rollout of 100 MB at 100 kB/s, on two cores, three times: the proxy grows by
34 to 59 MB, Ray spills nothing, and the 99th percentile of other callers' requests is 0.1 s. Without flow control it
grows by 621 to 668 MB, Ray spills 648 to 706 MB, and that percentile is 0.7 to 1.5 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

WINDOW_BYTES = 2**20
"""Bytes of one answer that may be between the replica and the client's connection."""
PIECE_BYTES = 64 * 2**10
"""Largest piece of a body, in bytes. Larger ones are split, as a connection takes each piece whole."""
NEWS_BYTES = WINDOW_BYTES // 4
"""Bytes after which the proxy tells the replica how many were taken. It never does for shorter answers."""
STALLED_S = 60.0
"""Seconds after which a client that takes nothing counts as disconnected."""
PACED = "ray_gym.paced"
"""Key in the scope of a request that came through a proxy with a `Meter`."""
TAKEN = "ray_gym.taken"
"""Type of the message with the number of bytes of the answer's body that the connection has taken."""
GONE: Message = {"type": "http.disconnect"}


class _Mailbox:
    """Reads a client's messages ahead of the application, and passes each to `on_message`, which puts those into
    `messages` that the application should get. The application calls `receive`.
    """

    def __init__(self, receive: Receive, on_message: Callable[[Message], None]) -> None:
        self._receive = receive
        self._on_message = on_message
        self._pumping: asyncio.Task[None] | None = None
        self.messages: asyncio.Queue[Message] = asyncio.Queue()

    def open(self) -> None:
        """Starts to read the client's messages ahead, in a task, unless it has begun."""
        if self._pumping is None:
            self._pumping = asyncio.create_task(self._pump())

    async def receive(self) -> Message:
        """Returns the next message for the application. After the client has disconnected and all messages were read,
        it is always a disconnect.
        """
        self.open()
        assert self._pumping is not None
        if self._pumping.done() and self.messages.empty():  # the client has disconnected
            return GONE
        return await self.messages.get()

    async def close(self) -> None:
        if self._pumping is not None:
            self._pumping.cancel()
            with suppress(asyncio.CancelledError):
                await self._pumping

    async def _pump(self) -> None:
        message: Message = {"type": ""}
        while message["type"] != GONE["type"]:
            try:
                message = await self._receive()
            except Exception:  # the proxy is dead, and with it the client's connection
                message = GONE
            self._on_message(message)


class Meter:
    """Counts, in the proxy, the bytes of one answer that the client's connection has taken, and tells the replica."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._mailbox = _Mailbox(receive, self._on_message)
        self._send = send
        self._taken = 0
        self._told = 0
        self.started = False
        self.is_gone = False
        """True once the client has disconnected, or has taken nothing for `STALLED_S` seconds."""
        self.receive, self.close = self._mailbox.receive, self._mailbox.close

    async def send(self, message: Message) -> None:
        """Sends a message to the client, and returns once the connection has room for more. If the client has
        disconnected, the message is dropped; one that takes nothing for `STALLED_S` seconds counts as disconnected.
        """
        self.started = True
        if self.is_gone:
            return
        try:
            async with asyncio.timeout(STALLED_S):
                await self._send(message)
        except TimeoutError:
            self._on_message(GONE)
            return
        self._taken += len(message.get("body", b""))
        if self._taken - self._told >= NEWS_BYTES:
            self._told = self._taken
            self._mailbox.messages.put_nowait({"type": TAKEN, "bytes": self._taken})

    def _on_message(self, message: Message) -> None:
        self.is_gone = self.is_gone or message["type"] == GONE["type"]
        self._mailbox.messages.put_nowait(message)


class PacedAnswers:
    """Holds back answers of the replica whose client is too slow, as a layer in front of the routes. It does so only
    for requests that came through a proxy with a `Meter`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if PACED not in scope:
            await self._app(scope, receive, send)
            return
        answer = _PacedAnswer(receive, send)
        try:
            await self._app(scope, answer.receive, answer.send)
        finally:
            await answer.close()


class _PacedAnswer:
    """Sends one answer, at most `WINDOW_BYTES` ahead of the client's connection."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._mailbox = _Mailbox(receive, self._on_message)
        self._send = send
        self._sent = 0
        self._taken = 0
        self._is_gone = False
        self._news = asyncio.Event()
        self.receive: Callable[[], Awaitable[Any]] = self._mailbox.receive
        self.close = self._mailbox.close

    async def send(self, message: Message) -> None:
        """Sends a message in pieces of at most `PIECE_BYTES`, and waits while the window is full. If the client has
        disconnected, pieces are dropped.
        """
        body, more = message.get("body", b""), message.get("more_body", False)
        while len(body) > PIECE_BYTES:
            await self._send_piece({**message, "body": bytes(body[:PIECE_BYTES]), "more_body": True})
            body = memoryview(body)[PIECE_BYTES:]
        last = {"body": bytes(body), "more_body": more} if "body" in message else {}
        await self._send_piece({**message, **last})

    async def _send_piece(self, message: Message) -> None:
        while self._sent - self._taken >= WINDOW_BYTES and not self._is_gone:
            self._mailbox.open()
            self._news.clear()
            await self._news.wait()
        if self._is_gone:
            await asyncio.sleep(0)  # the client has disconnected: lets the task run that cancels this one
            return
        self._sent += len(message.get("body", b""))
        await self._send(message)

    def _on_message(self, message: Message) -> None:
        if message["type"] == TAKEN:
            self._taken = message["bytes"]
        else:
            self._is_gone = self._is_gone or message["type"] == GONE["type"]
            self._mailbox.messages.put_nowait(message)
        self._news.set()
