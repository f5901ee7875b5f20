"""Finished groups on their way to the trainer: in order, those that it is not to have sorted out, all of them counted."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ray_gym.run.directory.storage import Storage
from ray_gym.stream.group import Finished
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.window import Window

DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Dropped:
    """All of it blocks. Errors: OSError."""

    storage: Storage

    def numbers(self) -> set[int]:
        return {int(stem) for name in self.storage.names(DROPPED) if (stem := PurePath(name).stem).isdigit()}

    def add(self, group: Finished, reason: str, version: int) -> None:
        said = {
            "group_id": group.group_id,
            "reason": reason,
            "completed": group.completed,
            "oldest_version": group.version,
            "version": version,
        }
        self.storage.write(f"{DROPPED}/{group.number}.json", json.dumps(said).encode())

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.storage.delete(f"{DROPPED}/{number}.json")


@dataclass(slots=True)
class Shelf:
    commit: int
    """Of the newest file that was put here with all before it."""
    _waiting: deque[Finished] = field(default_factory=deque)
    _early: dict[int, Sequence[Finished]] = field(default_factory=dict)
    """Files that came before an older one."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, commit: int, groups: Sequence[Finished]) -> None:
        self._early[commit] = groups
        while self.commit + 1 in self._early:
            self.commit += 1
            self._waiting.extend(self._early.pop(self.commit))

    def take(self) -> Finished | None:
        """The next one; None while there is none."""
        return self._waiting.popleft() if self._waiting else None

    def take_out(self, wrong: Callable[[Finished], str | None]) -> list[tuple[Finished, str]]:
        """Those that nobody is to have, each with the reason."""
        found = [(group, reason) for group in self._waiting if (reason := wrong(group)) is not None]
        gone = {group.number for group, _ in found}
        self._waiting = deque(group for group in self._waiting if group.number not in gone)
        return found


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
