"""Groups made ahead, in a thread: a generator may take its time, and the host's event loop has none."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from ray_gym.run.lease import Group, Lease
from ray_gym.stream.source import GroupSource

AHEAD = 64
"""Groups that are made and not begun."""
AT_ONCE = 4
"""Groups that are made before the first of them can begin."""


class Supply:
    def __init__(self, source: GroupSource, first: int, without: Iterable[int], on_more: Callable[[], None]) -> None:
        """From group `first` on, but for `without`. `on_more` is told when there are some again."""
        self._source = source
        self._number = first
        self._without = set(without)
        self._on_more = on_more
        self._ready: deque[tuple[int, Group]] = deque()
        self._taken = asyncio.Event()
        self._all_made = False

    @property
    def is_exhausted(self) -> bool:
        return self._all_made and not self._ready

    def take(self) -> tuple[int, Group] | None:
        self._taken.set()
        return self._ready.popleft() if self._ready else None

    async def fill(self) -> None:
        """Until there are no more. Errors: UserError for a generator that fails."""
        while not self._all_made:
            self._taken.clear()
            if len(self._ready) < AHEAD:
                made = await asyncio.to_thread(self._make, AT_ONCE)
                self._ready.extend(made)
                self._on_more()
            else:
                await self._taken.wait()

    def _make(self, count: int) -> list[tuple[int, Group]]:
        made: list[tuple[int, Group]] = []
        while len(made) < count and not self._all_made:
            number, self._number = self._number, self._number + 1
            if self._source.end is not None and number >= self._source.end:
                self._all_made = True
            elif number in self._without:
                self._without.remove(number)
            else:
                made.append((number, tuple(Lease(spec) for spec in self._source.group(number))))
        return made
