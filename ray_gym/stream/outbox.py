"""Keeps finished groups on their way to the trainer, in order.

Groups that it must not get are sorted out; all are counted.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ray_gym.run.directory.storage import Storage
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.window import Window

DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class DroppedGroups:
    """Keeps the dropped groups on disk, each in a small file. Its methods block and raise OSError."""

    storage: Storage

    def numbers(self) -> set[int]:
        return {int(stem) for name in self.storage.names(DROPPED) if (stem := PurePath(name).stem).isdigit()}

    def add(self, group: FinishedGroup, reason: str, version: int) -> None:
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
class GroupQueue:
    """Puts the groups of files, which may come out of order, into the order of the files' commits."""

    commit: int
    """Number of the newest file that was put here with all before it."""
    _waiting: deque[FinishedGroup] = field(default_factory=deque)
    _early: dict[int, Sequence[FinishedGroup]] = field(default_factory=dict)
    """Groups of the files that came before an older one, by the file's number."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, commit: int, groups: Sequence[FinishedGroup]) -> None:
        self._early[commit] = groups
        while self.commit + 1 in self._early:
            self.commit += 1
            self._waiting.extend(self._early.pop(self.commit))

    def take(self) -> FinishedGroup | None:
        """Takes the next group off the queue; None while there is none."""
        return self._waiting.popleft() if self._waiting else None

    def take_out(self, wrong: Callable[[FinishedGroup], str | None]) -> list[tuple[FinishedGroup, str]]:
        """Takes out the waiting groups for which `wrong` gives a reason, and returns each with its reason."""
        found = [(group, reason) for group in self._waiting if (reason := wrong(group)) is not None]
        gone = {group.number for group, _ in found}
        self._waiting = deque(group for group in self._waiting if group.number not in gone)
        return found


@dataclass(slots=True)
class Outbox:
    """An outbox delivers finished groups to the trainer, and drops those that are too small or too old."""

    options: StreamOptions
    window: Window
    version: int
    dropped: DroppedGroups
    queue: GroupQueue
    counts: Counter[str] = field(default_factory=Counter)
    stalest: int = 0
    """Most versions that a delivered group was behind the weights."""
    _out: dict[int, FinishedGroup] = field(default_factory=dict)
    """Groups that are delivered and not acknowledged, by number."""
    _unsaid: list[int] = field(default_factory=list)
    """Numbers of the dropped groups that the trainer was not told of yet."""

    async def put(self, commit: int, groups: Sequence[FinishedGroup]) -> None:
        """Puts the groups of a committed file into the outbox. Errors: OSError."""
        self.queue.put(commit, groups)
        await self._sort_out()

    async def advance(self, version: int) -> None:
        """Takes note of a newer version of the weights, and drops the groups that are too old for it.

        Errors: OSError.
        """
        if version > self.version:
            self.version = version
            self.window.advance()
            await self._sort_out()

    def take(self) -> FinishedGroup | None:
        """Takes the next group, which counts as delivered from now on; None while there is none."""
        group = self.queue.take()
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
        """Drops a delivered group that the trainer refuses: the weights changed on its way, and it is too old now.

        Errors: OSError.
        """
        group = self._out.pop(number, None)
        if group is not None:
            self.counts["delivered"] -= 1
            await self._drop(group, "stale")

    def news(self) -> tuple[int, ...]:
        """Returns the numbers of the groups that were dropped since the last call."""
        said, self._unsaid = tuple(self._unsaid), []
        return said

    def status(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "open": len(self.window.open),
            "max_open": self.window.max_open,
            "ahead": len(self.window.ahead),
            "max_ahead": self.window.max_ahead,
            "waiting": len(self.queue),
            "out": len(self._out),
            "stalest": self.stalest,
            **{name: self.counts[name] for name in ("delivered", "acknowledged", "stale", "small")},
        }

    async def _sort_out(self) -> None:
        """Drops the waiting groups that the trainer must not get. Errors: OSError."""
        for group, reason in self.queue.take_out(self._wrong_with):
            self._unsaid.append(group.number)
            await self._drop(group, reason)

    def _wrong_with(self, group: FinishedGroup) -> str | None:
        return self.options.wrong_with(group.completed, group.version, self.version)

    async def _drop(self, group: FinishedGroup, reason: str) -> None:
        self.window.drop(group.number)
        self.counts[reason] += 1
        await asyncio.to_thread(self.dropped.add, group, reason, self.version)
