"""Connects one process to all replicas of a model: finds the replicas, and routes each call to one of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from ray import exceptions as ray_errors

from ray_gym.errors import EpisodeFailure
from ray_gym.hosting.lanes.choice import rank_lanes
from ray_gym.hosting.lanes.lane import Lane, ReplicaFull
from ray_gym.hosting.lanes.replica import Whereabouts
from ray_gym.hosting.unreachable import UNREACHABLE
from ray_gym.models.base import Completion, CompletionRequest

logger = logging.getLogger(__name__)

LOOK_S = 5.0
"""Seconds between two queries for the list of replicas, in a process that waits for answers."""
NOBODY_S = 0.5
"""Seconds between two queries for the list of replicas while there are none."""


class Lanes:
    """Lanes hold one process's connections to a model's replicas. They are safe for many concurrent calls on one event
    loop.
    """

    def __init__(self, handle: Any, look: Callable[[], Awaitable[None]]) -> None:
        """Creates lanes that are opened at the first call.

        `handle`: Serve's handle of the application. `look`: checks the application, and raises an EpisodeFailure if the
        application is gone; without that, calls would wait for its replicas for ever.
        """
        self._handle = handle
        self._look = look
        self._lanes: list[Lane] = []
        self._retired: list[Lane] = []
        """Lanes to replicas that Serve no longer lists: they may still answer."""
        self._looking = asyncio.Lock()
        self._calls = 0
        self._is_closed = False
        self._watch: asyncio.Task[None] | None = None

    async def complete(self, request: CompletionRequest, key: str) -> Completion:
        """Returns the completion of a request. Calls with the same key go to the same replica, or to the next one if it
        is full; a call with the key "" goes to the replica with the fewest calls of this process in flight. If all are
        full, the call waits at the first.

        Errors: EpisodeFailure as the model or `look` raised it; ConnectionError if the replica is lost, none can be
        connected, or the lanes are closed; ReplicaBroken if the replica's code raised an unexpected error.
        """
        self._calls += 1
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watch_replicas())
        try:
            lanes = rank_lanes(await self._wait_for_lanes(), key)
            for lane in lanes if len(lanes) > 1 else []:
                if lane.in_flight < lane.end.slots:
                    try:
                        return await lane.call(request, may_wait=False)
                    except ReplicaFull:
                        continue
            return await lanes[0].call(request, may_wait=True)
        finally:
            self._calls -= 1

    async def close(self) -> None:
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        self._close_lanes()

    def _close_lanes(self) -> None:
        for lane in [*self._lanes, *self._retired]:
            lane.close()

    async def _wait_for_lanes(self) -> list[Lane]:
        """Returns the open lanes (the list itself, not a copy). If there are none, or one is broken, asks Serve for the
        replicas first, and waits until there is at least one.

        Errors: EpisodeFailure if the application is gone; ConnectionError if no replica can be connected.
        """
        while not self._lanes or any(lane.is_broken for lane in self._lanes):
            async with self._looking:
                if self._lanes and not any(lane.is_broken for lane in self._lanes):
                    break
                await self._refresh()
            if not self._lanes:
                await self._look()
                await asyncio.sleep(NOBODY_S)
        return self._lanes

    async def _refresh(self) -> None:
        """Asks Serve for the replicas, and opens a lane to each that has none. A broken lane is not used again; its
        replica gets a new lane if the replica still exists. If Serve can't be asked, or a replica does not answer
        within `LOOK_S` seconds, no lane is opened.

        Lanes to replicas that are gone are closed once they have no calls in flight. Errors: ConnectionError if no
        replica can be connected, or the lanes were closed.
        """
        whole = {lane.end.replica: lane for lane in self._lanes if not lane.is_broken}
        broken = [lane for lane in self._lanes if lane.is_broken]
        for lane in (done := [lane for lane in self._retired if not lane.in_flight]):
            lane.close()
        self._lanes, self._retired = list(whole.values()), [lane for lane in self._retired if lane not in done] + broken
        try:
            found = await self._handle.broadcast("whereabouts").results_async(timeout_s=LOOK_S, return_exceptions=True)
        except (TimeoutError, ray_errors.RayTaskError, *UNREACHABLE):
            return  # a replica did not answer in time, or there is none
        ends = {end.replica: end for end in found if isinstance(end, Whereabouts)}
        if ends:
            kept = {replica: lane for replica, lane in whole.items() if not lane.is_broken}
            opened = await _open_all([kept.get(replica) or Lane(end) for replica, end in ends.items()])
            self._retired += [lane for replica, lane in whole.items() if replica not in ends]
            self._lanes = opened
        if self._is_closed:
            self._close_lanes()
            raise ConnectionError("the lanes were closed")

    async def _watch_replicas(self) -> None:
        """Refreshes the lanes every `LOOK_S` seconds, as long as there are calls in flight. If the application is gone,
        fails all these calls.
        """
        while self._calls:
            await asyncio.sleep(LOOK_S)
            try:
                await self._look()
            except EpisodeFailure as failure:
                self._fail(failure)
                continue
            with suppress(ConnectionError):  # the callers get it from their own calls
                async with self._looking:
                    await self._refresh()

    def _fail(self, failure: EpisodeFailure) -> None:
        for lane in [*self._lanes, *self._retired]:
            lane.fail(lambda: EpisodeFailure(*failure.args))


async def _open_all(lanes: Sequence[Lane]) -> list[Lane]:
    """Opens the lanes that are not open yet, and returns all that are open then. Logs a warning for each lane that
    can't be opened.

    Errors: ConnectionError if none of them is open.
    """
    closed = [lane for lane in lanes if not lane.is_open]
    try:
        found = await asyncio.gather(*(lane.open() for lane in closed), return_exceptions=True)
    except asyncio.CancelledError:  # the caller's time is up
        for lane in closed:
            lane.close()
        raise
    errors = [error for error in found if error is not None]
    if len(errors) == len(lanes):
        raise errors[0]
    for error in errors:
        logger.warning("%s; its calls go to other replicas", error)
    return [lane for lane in lanes if lane.is_open]
