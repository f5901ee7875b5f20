"""Serves one process that calls a replica: takes the calls that come on its connection, and sends their answers."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable

import msgspec

from ray_gym.hosting.lanes import wire
from ray_gym.hosting.lanes.frames import MOST_BYTES, Frames

GREETING_S = 10.0
"""Seconds that a process may take to send the token after it has connected."""

logger = logging.getLogger(__name__)


class Caller:
    """A caller is a process on the other end of a connection to this replica.

    It has to send the replica's token first, within `GREETING_S` seconds; otherwise it is disconnected. When the
    connection is lost or closed, its calls are cancelled, and `on_leave` is called with this object.
    """

    def __init__(
        self,
        token: bytes,
        answer_call: Callable[[wire.ReplicaCall], Awaitable[wire.ReplicaAnswer]],
        on_leave: Callable[[Caller], None],
    ) -> None:
        self.connection = Frames(self._on_frame, self._on_lost, most_bytes=len(token))
        self._token = token
        self._answer_call = answer_call
        self._on_leave = on_leave
        self._is_known = False
        self._in_flight: dict[int, asyncio.Task[None]] = {}
        self._ready: list[wire.ReplicaAnswer] = []
        self._too_late = asyncio.get_running_loop().call_later(GREETING_S, self.disconnect)

    def disconnect(self) -> list[asyncio.Task[None]]:
        """Closes the connection, cancels the caller's calls, and returns their tasks."""
        self.connection.close()
        tasks = list(self._in_flight.values())
        self._in_flight.clear()  # here, as a task that has not begun yet never will
        for task in tasks:
            task.cancel()
        return tasks

    def _on_frame(self, frame: bytes) -> None:
        if self._is_known:
            self._take(frame)
        elif hmac.compare_digest(frame, self._token):
            self._too_late.cancel()
            self._is_known, self.connection.most_bytes = True, MOST_BYTES
        else:
            self.connection.close()

    def _take(self, frame: bytes) -> None:
        try:
            batch = wire.decode_batch(frame)
        except msgspec.DecodeError as error:
            logger.warning("a caller is disconnected, as its batch can't be read: %s", error)
            self.disconnect()
            return
        for call in batch.calls:
            self._in_flight[call.number] = asyncio.create_task(self._answer(call))
        for number in batch.cancelled:
            if (task := self._in_flight.pop(number, None)) is not None:
                task.cancel()

    async def _answer(self, call: wire.ReplicaCall) -> None:
        answer = wire.error_answer(call.number, "unreachable", "cancelled by its replica")
        try:
            answer = await self._answer_call(call)
        finally:
            self._in_flight.pop(call.number, None)
            self._put(answer)

    def _put(self, answer: wire.ReplicaAnswer) -> None:
        """Queues an answer. Answers of one turn of the event loop are sent together: those of calls that end in the
        same step of an engine.
        """
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._send)
        self._ready.append(answer)

    def _send(self) -> None:
        ready, self._ready = self._ready, []
        self.connection.send(wire.encode_answers(ready))

    def _on_lost(self, error: Exception | None) -> None:
        self._too_late.cancel()
        self.disconnect()
        self._on_leave(self)
