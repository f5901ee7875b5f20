"""Limits how far an answer may be ahead of its reader. Serve holds no replica back: its proxy keeps all that a client
has not taken yet.

Both ends are here. The one in the proxy tells the replica, as if the client had sent it, how many bytes the connection
has taken; the one in the replica waits while more than a window of them is under way.
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
"""Largest size in bytes of a piece that is sent at once; larger ones are split: a connection takes each piece whole."""
NEWS_BYTES = WINDOW_BYTES // 4
"""Bytes after which the replica is told. Short answers end before."""
STALLED_S = 60.0
"""Seconds after which a client that takes nothing is cut off."""
PACED = "ray_gym.paced"
"""Key in the scope of a request whose proxy tells what is taken."""
TAKEN = "ray_gym.taken"
"""Type of a message that says how many bytes of the answer's body the connection has taken."""
GONE: Message = {"type": "http.disconnect"}


class _Mailbox:
    """A mailbox is a `receive` for the application, whose messages are first shown to `on_message`."""

    def __init__(self, receive: Receive, on_message: Callable[[Message], None]) -> None:
        self._receive = receive
        self._on_message = on_message
        self._pumping: asyncio.Task[None] | None = None
        self.messages: asyncio.Queue[Message] = asyncio.Queue()

    def open(self) -> None:
        if self._pumping is None:
            self._pumping = asyncio.create_task(self._pump())

    async def receive(self) -> Message:
        self.open()
        assert self._pumping is not None
        if self._pumping.done() and self.messages.empty():  # a client that is gone stays so, however often one asks
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
            except Exception:  # the proxy is gone, and the client with it
                message = GONE
            self._on_message(message)


class Meter:
    """A meter is the proxy's end for one answer: it counts the bytes that the client's connection has taken."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._mailbox = _Mailbox(receive, self._arrived)
        self._send = send
        self._taken = 0
        self._told = 0
        self.started = False
        self.is_gone = False
        """True once the client has gone or stalled, which is treated alike."""
        self.receive, self.close = self._mailbox.receive, self._mailbox.close

    async def send(self, message: Message) -> None:
        """Sends a message, and returns when the connection has room for more."""
        self.started = True
        if self.is_gone:
            return
        try:
            async with asyncio.timeout(STALLED_S):
                await self._send(message)
        except TimeoutError:
            self._arrived(GONE)
            return
        self._taken += len(message.get("body", b""))
        if self._taken - self._told >= NEWS_BYTES:
            self._told = self._taken
            self._mailbox.messages.put_nowait({"type": TAKEN, "bytes": self._taken})

    def _arrived(self, message: Message) -> None:
        self.is_gone = self.is_gone or message["type"] == GONE["type"]
        self._mailbox.messages.put_nowait(message)


class Pace:
    """The replica's end is this layer of its application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if PACED not in scope:
            await self._app(scope, receive, send)
            return
        answer = _Answer(receive, send)
        try:
            await self._app(scope, answer.receive, answer.send)
        finally:
            await answer.close()


class _Answer:
    def __init__(self, receive: Receive, send: Send) -> None:
        self._mailbox = _Mailbox(receive, self._arrived)
        self._send = send
        self._sent = 0
        self._taken = 0
        self._is_gone = False
        self._news = asyncio.Event()
        self.receive: Callable[[], Awaitable[Any]] = self._mailbox.receive
        self.close = self._mailbox.close

    async def send(self, message: Message) -> None:
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
            await asyncio.sleep(0)  # lets the task run that is to end this, as nobody takes the answer
            return
        self._sent += len(message.get("body", b""))
        await self._send(message)

    def _arrived(self, message: Message) -> None:
        if message["type"] == TAKEN:
            self._taken = message["bytes"]
        else:
            self._is_gone = self._is_gone or message["type"] == GONE["type"]
            self._mailbox.messages.put_nowait(message)
        self._news.set()
