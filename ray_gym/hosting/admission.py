"""Decides when a new episode may begin: a gate before the models of a run protects the KV caches of conversations in
flight.

Only new episodes wait. The calls of an episode that has begun never do: its history lies in a replica's KV cache, and
while it waited, the cache would drop it. An episode is admitted once, for all of its models: where the user's model is
the slow one, that also keeps the policy's conversations few enough for its cache.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.models.engine import Gated

LOOK_S = 0.5
"""Seconds between two queries of the replicas' load while episodes wait. An answer is valid for that time."""
GROWTH = 0.5
"""Largest number of episodes that are admitted per query, as a share of those in flight (but at least 2): how much
cache they need shows only later.
"""

Share = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class AdmissionLimits(BaseModel):
    """Limits the load of a model's replicas. New episodes wait while any replica exceeds one of the first three limits,
    or there are `max_conversations` episodes in flight for each replica.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_kv_use: Share = 0.9
    """Largest share of a replica's KV cache (0 to 1) that its current generations may fill."""
    max_waiting: Annotated[int, Field(ge=0)] | None = None
    """Largest number of calls that may wait in a replica's engine. None means no limit."""
    max_recomputed: Share | None = 0.1
    """Largest share (0 to 1) of the history tokens sent to a replica that its cache should have had, but had lost. None
    means no limit.
    """
    max_conversations: Count | None = None
    """Largest number of episodes in flight for each replica, on average over the replicas. None means no limit."""


@dataclass(frozen=True, slots=True)
class ReplicaLoad:
    """Describes the load of one replica at the moment of the query."""

    kv_use: float
    """Share (0 to 1) of the KV cache that current generations fill."""
    waiting: int
    """Number of calls that wait in the engine."""
    running: int
    """Number of calls that the engine generates for."""
    recomputed: float
    """Share (0 to 1) of the history tokens of the last calls that the cache should have had, but had lost."""


def room(loads: Sequence[ReplicaLoad], conversations: float, limits: AdmissionLimits) -> float:
    """Returns how many more episodes may begin while `conversations` are in flight. `loads`: one for each replica that
    answered.

    It is 0 if any replica exceeds a limit of its load (`is_crowded`), since nobody knows beforehand which replica the
    episodes would go to. Else it is `max_conversations` for each replica, less `conversations`, and at least 0. It is
    infinite if there is no such limit, or no replica answered.
    """
    if any(is_crowded(load, limits) for load in loads):
        return 0
    if limits.max_conversations is None or not loads:  # if no replica answers, the calls themselves fail
        return math.inf
    return max(0, limits.max_conversations * len(loads) - conversations)


def is_crowded(load: ReplicaLoad, limits: AdmissionLimits) -> bool:
    """Returns True if a replica with this load exceeds one of the limits of KV cache, waiting calls or recomputed
    tokens. The limit of conversations does not count here.
    """
    return (
        load.kv_use > limits.max_kv_use
        or (limits.max_waiting is not None and load.waiting > limits.max_waiting)
        or (limits.max_recomputed is not None and load.recomputed > limits.max_recomputed)
    )


class Gate:
    """A gate decides whether an episode may enter, by the number that was last reported to it (`update`).

    It starts no tasks and reads no clock: callers pass the time, in seconds.
    """

    def __init__(self) -> None:
        self.in_flight = 0
        self._admitted = 0
        self._until = 0.0

    def update(self, room: float, now: float) -> None:
        """Sets how many episodes may enter in the next `LOOK_S` seconds: `room`, but at most half as many (`GROWTH`) as
        are in flight, or 2 if that is more. `now`: the time in seconds.
        """
        self._admitted = int(min(room, max(2, GROWTH * self.in_flight)))
        self._until = now + LOOK_S

    def may_enter(self, now: float) -> bool:
        """Returns True if the last `update` is less than `LOOK_S` seconds old and not all of its episodes have entered.
        Returns True also if no episode is in flight: otherwise the load would never change.
        """
        return self.in_flight == 0 or (self._admitted > 0 and now < self._until)

    def look_is_due(self, now: float) -> bool:
        return now >= self._until

    def enter(self) -> None:
        self.in_flight += 1
        self._admitted -= 1

    def leave(self) -> None:
        self.in_flight -= 1


class Admission:
    """Admits the episodes of one worker, by the load of those of its models that have limits of it. `share` is the
    worker's share (0 to 1) of the run's episodes.
    """

    def __init__(self, models: Iterable[object], share: float = 1) -> None:
        self._models = [model for model in models if isinstance(model, Gated) and model.is_gated]
        self._share = share
        self._gate = Gate()
        self._looking = asyncio.Lock()

    @asynccontextmanager
    async def place(self, begins: bool) -> AsyncIterator[None]:
        """Counts an episode as in flight while the block lasts. `begins`: True if the episode is new: then it waits
        before the block until every model with limits has room; False if it is resumed: then it does not wait.
        """
        if begins and self._models:
            await self._wait_for_room()
        self._gate.enter()
        try:
            yield
        finally:
            self._gate.leave()

    async def _wait_for_room(self) -> None:
        async with self._looking:  # so that episodes are admitted in the order in which they came
            while not self._gate.may_enter(now := time.monotonic()):
                if self._gate.look_is_due(now):
                    self._gate.update(await self._room(), time.monotonic())
                else:
                    await asyncio.sleep(LOOK_S / 5)

    async def _room(self) -> float:
        """Returns how many more episodes this worker may begin: its share, rounded up, of the smallest number that any
        of its models reports; infinite if none of them limits it.
        """
        conversations = self._gate.in_flight / self._share
        rooms = await asyncio.gather(*(model.room(conversations) for model in self._models))
        least = min(rooms)
        return least if math.isinf(least) else math.ceil(least * self._share)
