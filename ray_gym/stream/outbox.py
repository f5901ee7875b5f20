"""Finished groups on their way to the trainer: in order, those that it is not to have sorted out, all of them counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ray_gym.stream.dropped import Dropped
from ray_gym.stream.finished import Finished
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.shelf import Shelf
from ray_gym.stream.window import Window


@dataclass(slots=True)
class Outbox:
    options: StreamOptions
    window: Window
    version: int
    dropped: Dropped
    shelf: Shelf
    counts: Counter[str] = field(default_factory=Counter)
    stalest: int = 0
    """The most versions that a delivered group was behind."""
    _out: dict[int, Finished] = field(default_factory=dict)
    """Delivered and not acknowledged."""
    _unsaid: list[int] = field(default_factory=list)
    """Dropped, and the trainer doesn't know it yet."""

    async def put(self, commit: int, groups: Sequence[Finished]) -> None:
        """Errors: OSError."""
        self.shelf.put(commit, groups)
        await self._sort_out()

    async def advance(self, version: int) -> None:
        """Errors: OSError."""
        if version > self.version:
            self.version = version
            self.window.advance()
            await self._sort_out()

    def take(self) -> Finished | None:
        """The next group, which is out from now on."""
        group = self.shelf.take()
        if group is not None:
            self.window.deliver(group.number)
            self._out[group.number] = group
            self.counts["delivered"] += 1
            self.stalest = max(self.stalest, self.version - (self.version if group.version is None else group.version))
        return group

    def acknowledge(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            if self._out.pop(number, None) is not None:
                self.window.acknowledge(number)
                self.counts["acknowledged"] += 1

    async def refuse(self, number: int) -> None:
        """It was on its way while the weights changed, and is too old now; the trainer knows. Errors: OSError."""
        group = self._out.pop(number, None)
        if group is not None:
            self.counts["delivered"] -= 1
            await self._drop(group, "stale")

    def news(self) -> tuple[int, ...]:
        """What was dropped since this was last asked."""
        said, self._unsaid = tuple(self._unsaid), []
        return said

    def status(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "open": len(self.window.open),
            "max_open": self.window.max_open,
            "ahead": len(self.window.ahead),
            "max_ahead": self.window.max_ahead,
            "waiting": len(self.shelf),
            "out": len(self._out),
            "stalest": self.stalest,
            **{name: self.counts[name] for name in ("delivered", "acknowledged", "stale", "small")},
        }

    async def _sort_out(self) -> None:
        """Errors: OSError."""
        for group, reason in self.shelf.take_out(self._wrong_with):
            self._unsaid.append(group.number)
            await self._drop(group, reason)

    def _wrong_with(self, group: Finished) -> str | None:
        return self.options.wrong_with(group.completed, group.version, self.version)

    async def _drop(self, group: Finished, reason: str) -> None:
        self.window.drop(group.number)
        self.counts[reason] += 1
        await asyncio.to_thread(self.dropped.add, group, reason, self.version)
