"""One process to one replica. Calls that come while a batch is on its way there make up the next one."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ray import exceptions as ray_errors

from ray_gym.errors import describe
from ray_gym.lanes import wire
from ray_gym.lanes.replica import Whereabouts
from ray_gym.models.base import Completion, CompletionRequest

TAKEN_S = 5.0
"""How long a replica may take to say that a batch has come; what is asked meanwhile waits for that."""


class Full(Exception):
    """The replica has no slot free, and the call was not to wait for one."""


class Broken(Exception):
    """The replica's own code raised something that is no failure of an episode."""


_TROUBLES: dict[wire.Outcome, type[Exception]] = {"full": Full, "unreachable": ConnectionError, "broken": Broken}


class Lane:
    """Safe for many concurrent calls on one event loop."""

    def __init__(self, handle: Any, end: Whereabouts) -> None:
        """`handle` reaches whichever replica a session's id names (`ReplicaRouter`)."""
        self.end = end
        self.is_broken = False
        """A batch got lost: what was in flight has failed, and who calls next should look whether the replica is still there."""
        self._caller = uuid.uuid4().hex
        self._to_replica = handle.options(session_id=end.replica)
        self._streaming = handle.options(session_id=end.replica, stream=True)
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Completion]] = {}
        self._outgoing: dict[int, wire.Call] = {}
        self._cancelled: list[int] = []
        self._sender: asyncio.Task[None] | None = None
        self._receivers: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        return len(self._waiting)

    async def call(self, request: CompletionRequest, may_wait: bool) -> Completion:
        """Errors: Full; EpisodeFailure; ConnectionError when the replica is gone; Broken. Cancelled, so is the call over there."""
        number = next(self._numbers)
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._outgoing[number] = wire.Call(number, may_wait, wire.encode_request(request))
        self._wake_sender()
        try:
            return await answer
        finally:
            del self._waiting[number]
            if answer.cancelled() and self._outgoing.pop(number, None) is None:
                self._cancelled.append(number)
                self._wake_sender()

    def fail(self, error: Callable[[], BaseException]) -> None:
        """Everything that is under way, each call with an error of its own."""
        self._fail(list(self._waiting), error)

    async def close(self) -> None:
        tasks = [*self._receivers, *([self._sender] if self._sender is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.fail(lambda: ConnectionError("the lane was closed"))

    def _wake_sender(self) -> None:
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        await asyncio.sleep(0)  # whatever else comes in this turn of the loop
        while self._outgoing or self._cancelled:
            calls, self._outgoing = self._outgoing, {}
            if calls:
                await self._taken(list(calls.values()))
            cancelled, self._cancelled = self._cancelled, []
            if cancelled and not self.is_broken:
                await self._cancel(cancelled)

    async def _taken(self, calls: list[wire.Call]) -> None:
        """Until the batch has come there."""
        taken = asyncio.Event()
        receiver = asyncio.create_task(self._receive(calls, taken))
        self._receivers.add(receiver)
        receiver.add_done_callback(self._receivers.discard)
        with suppress(TimeoutError):  # of a replica that hangs the callers have deadlines
            async with asyncio.timeout(TAKEN_S):
                await taken.wait()

    async def _cancel(self, numbers: list[int]) -> None:
        try:
            async with asyncio.timeout(TAKEN_S):
                await self._to_replica.cancel_calls.remote(self._caller, numbers)
        except Exception:  # then it is gone, and so is what it was doing
            self.is_broken = True

    async def _receive(self, calls: list[wire.Call], taken: asyncio.Event) -> None:
        left = {call.number for call in calls}
        response: Any = None
        lost: BaseException = ConnectionError("the replica left calls of a batch unanswered")
        try:
            response = self._streaming.answers.remote(
                wire.encode_batch(wire.Batch(self._caller, self.end.replica, calls))
            )
            async for group in response:
                taken.set()
                for answer in wire.decode_answers(group):
                    self._answer(answer)
                    left.discard(answer.number)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                lost = ConnectionError("the lane was closed")
                if response is not None:
                    response.cancel()
                raise
        except Exception as error:
            lost = error.cause if isinstance(error, ray_errors.RayTaskError) and error.cause is not None else error
        finally:
            taken.set()
            if left:
                self.is_broken = True
                why = describe(lost)
                self._fail(left, lambda: ConnectionError(why))

    def _answer(self, answer: wire.Answer) -> None:
        future = self._waiting.get(answer.number)
        if future is None or future.done():
            return
        if answer.outcome == "completion":
            future.set_result(wire.completion_of(answer))
        elif answer.outcome == "failure":
            future.set_exception(wire.failure_of(answer))
        else:
            future.set_exception(_TROUBLES[answer.outcome](wire.message_of(answer)))

    def _fail(self, numbers: Iterable[int], error: Callable[[], BaseException]) -> None:
        for number in numbers:
            future = self._waiting.get(number)
            if future is not None and not future.done():
                future.set_exception(error())
