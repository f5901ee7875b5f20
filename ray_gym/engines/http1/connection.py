"""Keeps one HTTP/1.1 connection to a server. It sends requests one after the other, without pipelining."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import httptools

from ray_gym.aio.pace import Pace
from ray_gym.errors import describe

KEEP_ALIVE_S = 15.0
"""Seconds for which a connection may be idle and still be reused: a proxy or firewall on the way may drop idle
connections without telling either end.
"""

_HUNG_UP = "the server closed the connection before it had answered"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Holds a complete response of a server."""

    status: int
    headers: dict[bytes, bytes]
    """Values by name in lower case. Of a header that is given twice, the first counts."""
    body: bytes

    def header(self, name: str) -> str | None:
        """Returns the value of a header, whose name may be in any case, as text; None if the response lacks it."""
        value = self.headers.get(name.lower().encode())
        return None if value is None else value.decode("latin-1")


class HttpConnection(asyncio.Protocol):
    """A connection is an asyncio protocol for one request at a time. An event loop's `create_connection` opens it."""

    def __init__(self, silence_s: float, pace: Pace, on_idle: Callable[[HttpConnection], None]) -> None:
        """Creates a connection that is not open yet.

        `silence_s`: seconds without a byte from the server after which a request fails. `pace`: limits how many callers
        get their answers in one turn of the event loop. `on_idle`: called whenever the connection is free for the next
        request; the caller of the last one may get its answer a little later.
        """
        self._silence_s = silence_s
        self._pace = pace
        self._on_idle = on_idle
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        """Lenient as browsers are. That is safe here, as the server's bytes are passed on to no other parser."""
        self._answer: asyncio.Future[HttpResponse] | None = None
        """Response to the current request; None while the connection is idle."""
        self._begin_answer()
        self._is_usable = False
        self._busy_at = self._idle_since = self._loop.time()
        self._unsent = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def is_reusable(self) -> bool:
        """Returns True if the connection is open, and has been idle for less than `KEEP_ALIVE_S` seconds."""
        return self._is_usable and self._answer is None and self._loop.time() - self._idle_since < KEEP_ALIVE_S

    async def ask(self, request: Sequence[bytes]) -> HttpResponse:
        """Sends a request, given in pieces, and returns its response. The connection must be idle. If this coroutine is
        cancelled, the connection is closed: otherwise the rest of this response would be taken for the next one.

        Errors: ConnectionError if the connection is closed or breaks, or the response is no HTTP/1.1; TimeoutError if
        nothing comes for `silence_s` seconds.
        """
        assert self._answer is None
        if self._transport is None or not self._is_usable:
            raise ConnectionError("the server has closed the connection")
        answer: asyncio.Future[HttpResponse] = self._loop.create_future()
        self._answer = answer
        self._busy_at = self._loop.time()
        self._schedule_check(self._busy_at + self._silence_s)
        self._transport.writelines(request)
        self._unsent = self._transport.get_write_buffer_size()
        try:
            return await answer
        except asyncio.CancelledError:
            if self._answer is answer:  # else it was answered, and another request may be in flight
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
        if self._answer is None:  # without a request, a server may send an error before it closes
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
        """Takes the end of what the server sends. Completes a response whose end only the end of the connection marks;
        a request with any other response fails with ConnectionError. Returns False, so that the transport is closed.

        Over TLS, uvloop calls this only if the server closed the connection properly (close_notify): otherwise the
        response may be truncated.
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
        self._parser = self._transport = None  # they refer to this object: a cycle only the garbage collector would end

    # ---- llhttp's side ----

    def on_message_begin(self) -> None:
        if self._answer is None:  # a response without a request: its rest would be taken for the next one
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
        """Returns True if the message is the response itself. A message with a status below 200 only announces it."""
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
            self._pace.settle(answer, HttpResponse(status, self._headers, body))
        self._begin_answer()
        self._idle_since = self._loop.time()
        # A server that answers before it has the whole request may never read the rest.
        # (Over TLS that can't be seen: the bytes are in the buffer of the transport below.)
        is_sent = self._transport is not None and not self._transport.get_write_buffer_size()
        if not keep or not is_sent:
            self.close()
        else:
            self._on_idle(self)

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        self.close()
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def _schedule_check(self, time: float) -> None:
        """Schedules `_check` for this time of the event loop, or an earlier one. One timer serves many requests: when
        it is due, `_check` looks how long the server has been silent, or the connection idle.
        """
        time = min(time, self._loop.time() + KEEP_ALIVE_S)
        if self._timer is None or time < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(time, self._check), time

    def _check(self) -> None:
        """Closes a connection that was idle for too long, and fails a request whose server was silent for too long."""
        self._timer = None
        if self._answer is None:
            self._check_again_or(self._idle_since + KEEP_ALIVE_S, self.close)
        else:
            unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
            if unsent < self._unsent:  # the server still reads
                self._unsent, self._busy_at = unsent, self._loop.time()
            silent = TimeoutError(f"nothing came from the server for {self._silence_s:g} s")
            self._check_again_or(self._busy_at + self._silence_s, lambda: self._fail(silent))

    def _check_again_or(self, due: float, give_up: Callable[[], None]) -> None:
        if self._loop.time() < due:
            self._schedule_check(due)
        else:
            give_up()
