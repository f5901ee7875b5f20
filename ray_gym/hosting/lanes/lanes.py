"""Connects one process to all replicas of a model: finds out which there are, and where each call goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from ray import exceptions as ray_errors

from ray_gym.errors import EpisodeFailure
from ray_gym.hosting.lanes.choice import ranked
from ray_gym.hosting.lanes.lane import Full, Lane
from ray_gym.hosting.lanes.replica import Whereabouts
from ray_gym.hosting.unreachable import UNREACHABLE
from ray_gym.models.base import Completion, CompletionRequest

logger = logging.getLogger(__name__)

LOOK_S = 5.0
"""Seconds between two questions which replicas there are, in a process that waits for answers."""
NOBODY_S = 0.5
"""Seconds between two such questions while there are no replicas."""


class Lanes:
    """Lanes hold one process's connections to a model's replicas. They are safe for many concurrent calls on one event
    loop.
    """

    def __init__(self, handle: Any, look: Callable[[], Awaitable[None]]) -> None:
        """Creates lanes that open at the first call.
        `look` raises an EpisodeFailure if the application is gone: calls would wait for its replicas for ever.
        """
        self._handle = handle
        self._look = look
        self._lanes: list[Lane] = []
        self._left: list[Lane] = []
        """Lanes to replicas that Serve no longer lists: they may still answer."""
        self._looking = asyncio.Lock()
        self._calls = 0
        self._is_closed = False
        self._watch: asyncio.Task[None] | None = None

    async def complete(self, request: CompletionRequest, key: str) -> Completion:
        """Returns the completion of a call. Calls with the same key go to the same replica, or when it is full to the
        next; where all are full, the call waits at the first.
        Errors: those of `Lane.call` and `look`; those in UNREACHABLE while nobody can say which replicas there are.
        """
        self._calls += 1
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watching())
        try:
            lanes = ranked(await self._there(), key)
            for lane in lanes if len(lanes) > 1 else []:
                if lane.under_way < lane.end.slots:
                    try:
                        return await lane.call(request, may_wait=False)
                    except Full:
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
        for lane in [*self._lanes, *self._left]:
            lane.close()

    async def _there(self) -> list[Lane]:
        """Returns the open lanes. Waits for the first replica."""
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
        """Asks which replicas there are, and opens a lane to each. A lane that broke is not used again; its replica, if
        it is there, gets a new one.
        Errors: ConnectionError if no replica can be reached, or the lanes were closed.
        """
        whole = {lane.end.replica: lane for lane in self._lanes if not lane.is_broken}
        broken = [lane for lane in self._lanes if lane.is_broken]
        for lane in (done := [lane for lane in self._left if not lane.under_way]):
            lane.close()
        self._lanes, self._left = list(whole.values()), [lane for lane in self._left if lane not in done] + broken
        try:
            found = await self._handle.broadcast("whereabouts").results_async(timeout_s=LOOK_S, return_exceptions=True)
        except (TimeoutError, ray_errors.RayTaskError, *UNREACHABLE):
            return  # a replica has no time to answer, or there is none
        ends = {end.replica: end for end in found if isinstance(end, Whereabouts)}
        if ends:
            kept = {replica: lane for replica, lane in whole.items() if not lane.is_broken}
            opened = await _opened([kept.get(replica) or Lane(end) for replica, end in ends.items()])
            self._left += [lane for replica, lane in whole.items() if replica not in ends]
            self._lanes = opened
        if self._is_closed:
            self._close_lanes()
            raise ConnectionError("the lanes were closed")

    async def _watching(self) -> None:
        """Looks for replicas again and again, as long as there are calls."""
        while self._calls:
            await asyncio.sleep(LOOK_S)
            try:
                await self._look()
            except EpisodeFailure as failure:
                self._fail(failure)
                continue
            with suppress(ConnectionError):  # the callers are told
                async with self._looking:
                    await self._refresh()

    def _fail(self, failure: EpisodeFailure) -> None:
        for lane in [*self._lanes, *self._left]:
            lane.fail(lambda: EpisodeFailure(*failure.args))


async def _opened(lanes: Sequence[Lane]) -> list[Lane]:
    """Opens those lanes that are not open, and returns the ones that can be reached. Errors: ConnectionError if none
    can.
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
