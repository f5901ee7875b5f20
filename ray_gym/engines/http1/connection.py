"""Keeps one connection to a server: requests go out one after the other, each when the one before it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import httptools

from ray_gym.aio.pace import Pace
from ray_gym.errors import describe

KEPT_ALIVE_S = 15.0
"""Seconds that a connection may rest and still be used again: a proxy or firewall on the way may forget resting
connections, without a word to either end.
"""

_HUNG_UP = "the server closed the connection before it had answered"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's `headers` have names in lower case; of a header that is given twice, the first counts."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes

    def header(self, name: str) -> str | None:
        value = self.headers.get(name.lower().encode())
        return None if value is None else value.decode("latin-1")


class Connection(asyncio.Protocol):
    """A connection is made by an event loop's `create_connection`, and used for one request at a time."""

    def __init__(self, silence_s: float, pace: Pace, rests: Callable[[Connection], None]) -> None:
        """Creates a connection that is not open yet.
        `silence_s`: seconds without a byte after which an answer counts as lost. `pace`: limits how many callers get
        their answers in one turn of the event loop. `rests`: called each time that the connection is free for the next
        request: at once, though the caller of the last one may get its answer later.
        """
        self._silence_s = silence_s
        self._pace = pace
        self._rests = rests
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        """As browsers have it; what a server says is not passed on to anybody who could read it in another way."""
        self._answer: asyncio.Future[Answer] | None = None
        """Answer to the request that is under way; None while the connection rests."""
        self._begin_answer()
        self._is_usable = False
        self._busy_at = self._rests_since = self._loop.time()
        self._unsent = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def may_be_used_again(self) -> bool:
        """Says whether the connection is open, at rest, and has not rested for too long."""
        return self._is_usable and self._answer is None and self._loop.time() - self._rests_since < KEPT_ALIVE_S

    async def ask(self, request: Sequence[bytes]) -> Answer:
        """Sends a request, given in pieces, and returns its answer. If it is cancelled, the connection is closed: the
        rest of the server's answer would be taken for the next one.
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
        self._unsent = self._transport.get_write_buffer_size()
        try:
            return await answer
        except asyncio.CancelledError:
            if self._answer is answer:  # else it was answered, and others may be asking by now
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
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"the server does not speak HTTP/1.1: {describe(error)}"))
        except httptools.HttpParserUpgrade:
            self._fail(ConnectionError("the server changed to another protocol"))

    def eof_received(self) -> bool:
        """Ends the answer under way. Over TLS, uvloop calls this only if the server closed the connection properly: an
        answer without that may have been cut short.
        """
        if self._ends_with_connection:
            self._finish(keep=False)
        else:
            self._fail(ConnectionError(_HUNG_UP))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionError(f"{_HUNG_UP}: {describe(exc)}" if exc is not None else _HUNG_UP))
        if self._timer is not None:
            self._timer.cancel()
        self._parser = self._transport = (
            None  # which know this connection: a cycle that would wait for the garbage collector
        )

    # ---- llhttp's side ----

    def on_message_begin(self) -> None:
        if self._answer is None:  # more than was asked for: the rest of it would be taken for the next answer
            self.close()
        self._begin_answer()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.setdefault(name.lower(), value)

    def on_headers_complete(self) -> None:
        is_chunked = b"chunked" in self._headers.get(b"transfer-encoding", b"").lower()
        self._ends_with_connection = self._is_final and not is_chunked and b"content-length" not in self._headers

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._is_final and self._parser is not None:
            self._finish(self._parser.should_keep_alive())

    # ----

    @property
    def _is_final(self) -> bool:
        """Says whether the message is the answer itself. One with a status below 200 only says that the answer is to
        come.
        """
        return self._parser is not None and self._parser.get_status_code() >= 200

    def _begin_answer(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._ends_with_connection = False

    def _finish(self, keep: bool) -> None:
        answer, self._answer = self._answer, None
        if answer is None or self._parser is None:
            self.close()
            return
        if not answer.done():
            status, body = self._parser.get_status_code(), b"".join(self._body)
            self._pace.settle(answer, Answer(status, self._headers, body))
        self._begin_answer()
        self._rests_since = self._loop.time()
        # A server that answers before all was sent may never read the rest.
        # (Over TLS that can't be seen: the transport below has taken it.)
        is_sent = self._transport is not None and not self._transport.get_write_buffer_size()
        if not keep or not is_sent:
            self.close()
        else:
            self._rests(self)

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        self.close()
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def _look_at(self, time: float) -> None:
        """Sets one timer for many requests: when it is due, it sees how long there has been silence, or rest, since."""
        time = min(time, self._loop.time() + KEPT_ALIVE_S)
        if self._timer is None or time < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(time, self._look), time

    def _look(self) -> None:
        self._timer = None
        if self._answer is None:
            self._look_again_or(self._rests_since + KEPT_ALIVE_S, self.close)
        else:
            unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
            if unsent < self._unsent:  # the server still reads
                self._unsent, self._busy_at = unsent, self._loop.time()
            silent = TimeoutError(f"nothing came from the server for {self._silence_s:g} s")
            self._look_again_or(self._busy_at + self._silence_s, lambda: self._fail(silent))

    def _look_again_or(self, due: float, give_up: Callable[[], None]) -> None:
        if self._loop.time() < due:
            self._look_at(due)
        else:
            give_up()
