"""The replica's end: batches of calls are taken apart, each call is answered by itself, and no more at a time than there are slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from ray import serve

from ray_gym.affinity import Transport
from ray_gym.errors import EpisodeFailure, describe
from ray_gym.lanes import wire
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.unreachable import UNREACHABLE

TAKEN_S = 0.002
"""A batch is answered after that long at the latest, if only to say that it has come: its caller then sends the next one."""

Complete = Callable[[CompletionRequest], Awaitable[Completion]]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What callers want to know of a replica."""

    replica: str
    slots: int


class ReplicaEnd:
    """Of one replica, for all its callers."""

    def __init__(self, replica: str, complete: Complete, slots: int) -> None:
        self.whereabouts = Whereabouts(replica, slots)
        self._complete = complete
        self._slots = asyncio.Semaphore(slots)
        self._under_way: dict[tuple[str, int], asyncio.Task[None]] = {}

    async def answers(self, data: bytes) -> AsyncGenerator[bytes, None]:
        """To all calls of a batch, as soon as they are there. Closed early, it cancels the rest.

        Errors: ConnectionError for a batch that is another replica's.
        """
        batch = wire.decode_batch(data)
        if batch.replica != self.whereabouts.replica:
            raise ConnectionError(f"replica {batch.replica} is gone")
        outbox = _Outbox()
        tasks = {(batch.caller, call.number): asyncio.create_task(self._answer(call, outbox)) for call in batch.calls}
        self._under_way |= tasks
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(TAKEN_S):
                    await outbox.filled()
            left = len(tasks)
            while True:
                ready = outbox.taken()
                left -= len(ready)
                yield wire.encode_answers(ready)
                if not left:
                    break
                await outbox.filled()
        finally:
            for key, task in tasks.items():
                self._under_way.pop(key, None)
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    def cancel(self, caller: str, numbers: Iterable[int]) -> None:
        """Calls that nobody waits for any more."""
        for number in numbers:
            if (task := self._under_way.get((caller, number))) is not None:
                task.cancel()

    async def _answer(self, call: wire.Call, outbox: _Outbox) -> None:
        answer = wire.troubled(call.number, "unreachable", "cancelled by its replica")
        try:
            answer = await self._answered(call)
        finally:
            outbox.put(answer)

    async def _answered(self, call: wire.Call) -> wire.Answer:
        if self._slots.locked() and not call.may_wait:
            return wire.troubled(call.number, "full", f"all {self.whereabouts.slots} slots are taken")
        async with self._slots:
            try:
                return wire.completed(call.number, await self._complete(wire.decode_request(call.request)))
            except EpisodeFailure as failure:
                return wire.failed(call.number, failure)
            except UNREACHABLE as error:
                return wire.troubled(call.number, "unreachable", describe(error))
            except Exception as error:
                return wire.troubled(call.number, "broken", describe(error))


class _Outbox:
    """Answers that are ready to be sent."""

    def __init__(self) -> None:
        self._ready: list[wire.Answer] = []
        self._news = asyncio.Event()

    def put(self, answer: wire.Answer) -> None:
        self._ready.append(answer)
        self._news.set()

    async def filled(self) -> None:
        """Until there are some, and with each turn of the loop no more: those of one step of an engine come together."""
        await self._news.wait()
        seen = 0
        while seen < len(self._ready):
            seen = len(self._ready)
            await asyncio.sleep(0)

    def taken(self) -> list[wire.Answer]:
        ready, self._ready = self._ready, []
        self._news.clear()
        return ready


class BatchedReplica:
    """A replica that also takes batches. Serve configures it with its slots (`user_config`) where it is meant to."""

    _end: ReplicaEnd | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        raise NotImplementedError

    async def reconfigure(self, config: dict[str, Any]) -> None:
        replica = serve.get_replica_context().replica_id.unique_id
        self._end = ReplicaEnd(replica, self.complete, config["slots"])

    @property
    def transport(self) -> Transport:
        return "batched" if self._end is not None else "handle"

    async def whereabouts(self) -> Whereabouts:
        return self._opened().whereabouts

    async def answers(self, batch: bytes) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._opened().answers(batch)) as groups:
            async for group in groups:
                yield group

    async def cancel_calls(self, caller: str, numbers: list[int]) -> None:
        self._opened().cancel(caller, numbers)

    def _opened(self) -> ReplicaEnd:
        if self._end is None:
            raise RuntimeError("this replica was deployed without slots; reach it by its handle")
        return self._end
