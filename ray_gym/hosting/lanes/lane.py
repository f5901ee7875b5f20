"""Calls one replica from one process, on a connection of its own. Calls of one turn of the event loop are sent as one
batch.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

import msgspec

from ray_gym.errors import describe
from ray_gym.hosting.lanes import wire
from ray_gym.hosting.lanes.frames import Frames
from ray_gym.hosting.lanes.replica import Whereabouts
from ray_gym.models.base import Completion, CompletionRequest

OPEN_S = 5.0
"""Seconds that a replica may take to accept a connection."""


class ReplicaFull(Exception):
    """Says that the replica has no free slot, and the call may not wait for one."""


class ReplicaBroken(Exception):
    """Says that the replica's code raised an unexpected exception, or that its answer can't be read. The call is not
    retried.
    """


_ERRORS: dict[wire.AnswerKind, type[Exception]] = {
    "full": ReplicaFull,
    "unreachable": ConnectionError,
    "broken": ReplicaBroken,
}


class Lane:
    """A lane is one process's connection to one replica. It is safe for many concurrent calls on one event loop."""

    def __init__(self, end: Whereabouts) -> None:
        self.end = end
        self.is_open = False
        self.is_broken = False
        """True once the connection is lost or closed: calls in flight have failed, and the next caller should check
        whether the replica still exists.
        """
        self._reason = "the lane was never opened"
        self._connection = Frames(self._on_frame, self._on_lost)
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Completion]] = {}
        self._outgoing: dict[int, wire.ReplicaCall] = {}
        self._cancelled: list[int] = []
        self._is_sending = False

    @property
    def in_flight(self) -> int:
        """Returns the number of calls without an answer yet."""
        return len(self._waiting)

    async def open(self) -> None:
        """Connects to the replica, and sends its token.

        Errors: ConnectionError if the replica can't be reached within `OPEN_S` seconds, or the lane is closed
        meanwhile.
        """
        host, port = self.end.address
        try:
            async with asyncio.timeout(OPEN_S):
                await asyncio.get_running_loop().create_connection(lambda: self._connection, host, port)
        except (OSError, TimeoutError) as error:
            self._break(f"replica {self.end.replica} can't be reached at {host}:{port}: {describe(error)}")
            raise ConnectionError(self._reason) from None
        if self.is_broken:  # it was closed while it connected
            self._connection.close()
            raise ConnectionError(self._reason)
        self._connection.send(self.end.token)
        self.is_open = True

    async def call(self, request: CompletionRequest, may_wait: bool) -> Completion:
        """Sends a request, and returns the completion. If this coroutine is cancelled, the call is cancelled at the
        replica.

        `may_wait`: True if the call may wait at the replica for a free slot. Errors: ReplicaFull if none is free and
        the call may not wait; EpisodeFailure as the model raised it; ConnectionError if the lane is not open, or the
        replica is lost; ReplicaBroken if the replica's code raised an unexpected error, or its answer can't be read;
        the error of `fail`.
        """
        if not self.is_open:
            raise ConnectionError(self._reason)
        sent = wire.encode_request(request)
        number = next(self._numbers)
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._outgoing[number] = wire.ReplicaCall(number, may_wait, sent)
        self._send_soon()
        try:
            return await answer
        finally:
            del self._waiting[number]
            if answer.cancelled() and self._outgoing.pop(number, None) is None:
                self._cancelled.append(number)
                self._send_soon()

    def fail(self, error: Callable[[], BaseException]) -> None:
        """Fails every call in flight. `error` is called once for each of them, and returns the exception that the call
        raises.
        """
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error())

    def close(self) -> None:
        self._break("the lane was closed")
        self._connection.close()

    def _send_soon(self) -> None:
        if not self._is_sending:
            self._is_sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._is_sending = False
        calls, self._outgoing = self._outgoing, {}
        cancelled, self._cancelled = self._cancelled, []
        if calls or cancelled:
            self._connection.send(wire.encode_batch(wire.CallBatch(list(calls.values()), cancelled)))

    def _on_frame(self, frame: bytes) -> None:
        try:
            answers = wire.decode_answers(frame)
        except msgspec.DecodeError as error:  # of a replica with another protocol
            self._break(f"the answers of replica {self.end.replica} can't be read: {error}")
            self._connection.close()
            return
        for answer in answers:
            future = self._waiting.get(answer.number)
            if future is not None and not future.done():
                self._settle(future, answer)

    def _settle(self, future: asyncio.Future[Completion], answer: wire.ReplicaAnswer) -> None:
        try:
            if answer.kind == "completion":
                future.set_result(wire.completion_of(answer))
            elif answer.kind == "failure":
                future.set_exception(wire.failure_of(answer))
            else:
                future.set_exception(_ERRORS[answer.kind](wire.message_of(answer)))
        except Exception as error:  # a replica with other code sent it; other calls are not affected
            future.set_exception(
                ReplicaBroken(f"an answer of replica {self.end.replica} can't be read: {describe(error)}")
            )

    def _on_lost(self, error: Exception | None) -> None:
        said = f": {describe(error)}" if error is not None else ""
        self._break(f"replica {self.end.replica} closed its connection{said}")

    def _break(self, why: str) -> None:
        if not self.is_broken:
            self.is_open, self.is_broken, self._reason = False, True, why
        self.fail(partial(ConnectionError, self._reason))
