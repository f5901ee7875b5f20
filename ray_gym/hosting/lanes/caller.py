"""Represents one process that calls a replica, on the replica's side: the calls that came on its connection, and their
answers.
"""

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
    """A caller has to send the replica's token first. When its connection is lost, its calls are cancelled."""

    def __init__(
        self, token: bytes, answered: Callable[[wire.Call], Awaitable[wire.Answer]], left: Callable[[Caller], None]
    ) -> None:
        self.connection = Frames(self._received, self._lost, most_bytes=len(token))
        self._token = token
        self._answered = answered
        self._left = left
        self._is_known = False
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._ready: list[wire.Answer] = []
        self._too_late = asyncio.get_running_loop().call_later(GREETING_S, self.cut_off)

    def cut_off(self) -> list[asyncio.Task[None]]:
        """Closes the connection, cancels the caller's calls, and returns their tasks."""
        self.connection.close()
        tasks = list(self._under_way.values())
        self._under_way.clear()  # here, as a task that has not begun yet never will
        for task in tasks:
            task.cancel()
        return tasks

    def _received(self, frame: bytes) -> None:
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
            logger.warning("a caller is cut off, as its batch can't be read: %s", error)
            self.cut_off()
            return
        for call in batch.calls:
            self._under_way[call.number] = asyncio.create_task(self._answer(call))
        for number in batch.cancelled:
            if (task := self._under_way.pop(number, None)) is not None:
                task.cancel()

    async def _answer(self, call: wire.Call) -> None:
        answer = wire.troubled(call.number, "unreachable", "cancelled by its replica")
        try:
            answer = await self._answered(call)
        finally:
            self._under_way.pop(call.number, None)
            self._put(answer)

    def _put(self, answer: wire.Answer) -> None:
        """Queues an answer. Answers of one turn of the event loop are sent together: those of one step of an engine."""
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._send)
        self._ready.append(answer)

    def _send(self) -> None:
        ready, self._ready = self._ready, []
        self.connection.send(wire.encode_answers(ready))

    def _lost(self, error: Exception | None) -> None:
        self._too_late.cancel()
        self.cut_off()
        self._left(self)
