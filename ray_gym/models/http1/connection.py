"""One connection to a server: requests go out one after the other, each when the one before it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import httptools

from ray_gym.errors import describe

KEPT_ALIVE_S = 15.0
"""How long a connection may rest and be used again: what stands between may forget those that rest, without a word to either end."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` have names in lower case; of one that is given twice, the last."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes

    def header(self, name: str) -> str | None:
        value = self.headers.get(name.lower().encode())
        return None if value is None else value.decode("latin-1")


class Connection(asyncio.Protocol):
    """Made by an event loop's `create_connection`."""

    def __init__(self, silence_s: float) -> None:
        """`silence_s`: an answer of which nothing has come for so long never will."""
        self._silence_s = silence_s
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Answer] | None = None
        """Of the request that is under way."""
        self._begin_answer()
        self._is_usable = False
        self._busy_at = self._rests_since = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def may_be_used_again(self) -> bool:
        """Whether it is open, at rest, and has not rested for too long."""
        return self._is_usable and self._answer is None and self._loop.time() - self._rests_since < KEPT_ALIVE_S

    async def ask(self, request: Sequence[bytes]) -> Answer:
        """Cancelled, the connection is closed: what the server still sends would be taken for the next answer.

        Errors: ConnectionError, TimeoutError.
        """
        assert self._answer is None
        if self._transport is None or not self._is_usable:
            raise ConnectionError("the server has closed the connection")
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._answer = answer
        self._busy_at = self._loop.time()
        self._look_at(self._busy_at + self._silence_s)
        self._transport.writelines(request)
        try:
            return await answer
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        self._is_usable = False
        if self._transport is not None:
            self._transport.abort()

    # ---- the event loop's side ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._is_usable = True

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody has asked: the server is about to hang up, say
            self.close()
            return
        self._busy_at = self._loop.time()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"the server does not speak HTTP/1.1: {describe(error)}"))
        except httptools.HttpParserUpgrade:
            self._fail(ConnectionError("the server changed to another protocol"))

    def eof_received(self) -> bool:
        if self._ends_with_connection:
            self._finish(keep=False)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        said = f": {describe(exc)}" if exc is not None else ""
        self._fail(ConnectionError(f"the server closed the connection before it had answered{said}"))
        if self._timer is not None:
            self._timer.cancel()

    # ---- llhttp's side ----

    def on_message_begin(self) -> None:
        self._begin_answer()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        headers = self._headers
        is_final = self._parser.get_status_code() >= 200
        self._ends_with_connection = is_final and not headers.keys() & {b"content-length", b"transfer-encoding"}

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:  # else it only says that the answer is to come
            self._finish(self._parser.should_keep_alive())

    # ----

    def _begin_answer(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._ends_with_connection = False

    def _finish(self, keep: bool) -> None:
        answer, self._answer = self._answer, None
        if answer is None:  # more than was asked for
            self.close()
            return
        if not answer.done():
            status, body = self._parser.get_status_code(), b"".join(self._body)
            answer.set_result(Answer(status, self._headers, body))
        self._begin_answer()
        self._rests_since = self._loop.time()
        is_sent = self._transport is not None and not self._transport.get_write_buffer_size()
        if not keep or not is_sent:
            self.close()

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        self.close()
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def _look_at(self, time: float) -> None:
        """One timer for many requests: when it is due it sees how long there has been silence since."""
        if self._timer is None or time < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(time, self._look), time

    def _look(self) -> None:
        self._timer = None
        if self._answer is None:
            self._look_again_or(self._rests_since + KEPT_ALIVE_S, self.close)
        else:
            silent = TimeoutError(f"nothing came from the server for {self._silence_s:g} s")
            self._look_again_or(self._busy_at + self._silence_s, lambda: self._fail(silent))

    def _look_again_or(self, due: float, give_up: Callable[[], None]) -> None:
        if self._loop.time() < due:
            self._look_at(due)
        else:
            give_up()
