"""Encodes groups as server-sent events, once for all streams of a replica that are at the same place."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

import msgspec

from ray_gym.service.pages import groups_after

GROUPS_AT_ONCE = 8
KEPT_BYTES = 64 * 2**20
"""Bytes of the last used events that are kept: many streams follow one rollout."""

Place = tuple[str, str, bool]


@dataclass(frozen=True, slots=True)
class Events:
    cursor: str
    """Place after these events."""
    data: bytes


class GroupEvents:
    """Groups' events are kept in memory for all streams. They are to be used on one event loop."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._most = kept_bytes
        self._size = 0
        self._kept: OrderedDict[Place, Events] = OrderedDict()
        self._making: dict[tuple[Place, int], asyncio.Task[Events | None]] = {}

    async def after(self, location: str, cursor: str, samples: bool, commits: int) -> Events | None:
        """Returns the next events, as many as are fit to send at once; None if there are no more yet.
        `commits`: number of files that the caller knows to be committed; a caller that knows of fewer may look too
        early. Errors: Refused.
        """
        place = (location, cursor, samples)
        if (kept := self._kept.get(place)) is not None:
            self._kept.move_to_end(place)
            return kept
        if (making := self._making.get((place, commits))) is None:
            making = self._making[place, commits] = asyncio.create_task(self._make(place, commits))
        return await asyncio.shield(making)  # the others want it also when this stream's client goes

    async def _make(self, place: Place, commits: int) -> Events | None:
        try:
            made = await asyncio.to_thread(_events, *place, commits)
        finally:
            del self._making[place, commits]
        if made is not None and place not in self._kept:
            self._keep(place, made)
        return made

    def _keep(self, place: Place, events: Events) -> None:
        self._kept[place] = events
        self._size += len(events.data)
        while self._size > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.data)


def event(kind: Literal["group", "end"], data: bytes, cursor: str | None = None) -> bytes:
    """Encodes an event. JSON has no line breaks, so it is one line of data."""
    named = f"id: {cursor}\nevent: {kind}\n" if cursor else f"event: {kind}\n"
    return named.encode() + b"data: " + data + b"\n\n"


def _events(location: str, cursor: str, samples: bool, commits: int) -> Events | None:
    groups = groups_after(location, cursor, GROUPS_AT_ONCE, samples, commits)
    if not groups:
        return None
    made = (
        event(
            "group",
            msgspec.json.encode({"group_id": one.group_id, "task_id": one.task_id, "episodes": one.episodes}),
            one.cursor,
        )
        for one in groups
    )
    return Events(groups[-1].cursor, b"".join(made))
