"""Encodes groups of episodes as server-sent events, once for all streams of a gateway's replica that are at the same
cursor.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

import msgspec

from ray_gym.service.pages import read_groups

GROUPS_AT_ONCE = 8
"""Largest number of groups that are encoded together."""
KEPT_BYTES = 64 * 2**20
"""Largest number of bytes of events that are cached, as many streams follow one rollout. The least recently used are
dropped.
"""

Place = tuple[str, str, bool]
"""Key of cached events: location of the run, cursor before them, and True if they have samples."""


@dataclass(frozen=True, slots=True)
class Events:
    """Holds encoded events of consecutive groups."""

    cursor: str
    """Cursor after these events."""
    data: bytes
    """The events, as they are sent."""


class GroupEvents:
    """Encodes the events of groups of episodes, and caches them for all streams. It is for one event loop."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._most = kept_bytes
        self._size = 0
        self._kept: OrderedDict[Place, Events] = OrderedDict()
        self._making: dict[tuple[Place, int], asyncio.Task[Events | None]] = {}

    async def read_after(self, location: str, cursor: str, samples: bool, commits: int) -> Events | None:
        """Returns the events of the next groups after a cursor, at most `GROUPS_AT_ONCE`; None if there are none yet.

        `location`: location of the run's files. `samples`: True if episodes come with their tokens. `commits`: number
        of committed files that the caller knows of; no others are read. Errors: Refused if the cursor is none of this
        run, or the files can't be read.
        """
        place = (location, cursor, samples)
        if (kept := self._kept.get(place)) is not None:
            self._kept.move_to_end(place)
            return kept
        if (making := self._making.get((place, commits))) is None:
            making = self._making[place, commits] = asyncio.create_task(self._make(place, commits))
        return await asyncio.shield(making)  # other streams may wait for it, too, if this one is cancelled

    async def _make(self, place: Place, commits: int) -> Events | None:
        try:
            made = await asyncio.to_thread(_encode_groups, *place, commits)
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


def encode_event(kind: Literal["group", "end"], data: bytes, cursor: str | None = None) -> bytes:
    """Returns a server-sent event. `data` is JSON without line breaks, so it is one line. `cursor`: id of the event;
    None for an event without an id.
    """
    named = f"id: {cursor}\nevent: {kind}\n" if cursor else f"event: {kind}\n"
    return named.encode() + b"data: " + data + b"\n\n"


def _encode_groups(location: str, cursor: str, samples: bool, commits: int) -> Events | None:
    groups = read_groups(location, cursor, GROUPS_AT_ONCE, samples, commits)
    if not groups:
        return None
    made = (
        encode_event(
            "group",
            msgspec.json.encode({"group_id": one.group_id, "task_id": one.task_id, "episodes": one.episodes}),
            one.cursor,
        )
        for one in groups
    )
    return Events(groups[-1].cursor, b"".join(made))
