"""Keeps finished groups in order until the trainer takes them.

Groups that are too small, too old or without spread are dropped. All groups are counted.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ray_gym.models.versions import Versions
from ray_gym.run.directory.storage import Storage
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.ranks import Ranks
from ray_gym.stream.window import Window

DROPPED = "dropped"
"""Name of the folder in the run directory that has a file for each dropped group."""
SHOWN = 10
"""Number of tasks in the status whose groups were dropped as stale most often."""


@dataclass(frozen=True, slots=True)
class DroppedGroups:
    """Keeps a record of the dropped groups on disk, in a small file for each. Its methods block and raise OSError."""

    storage: Storage
    """Storage of the run directory."""

    def numbers(self) -> set[int]:
        """Returns the numbers of the dropped groups."""
        return {int(stem) for name in self.storage.names(DROPPED) if (stem := PurePath(name).stem).isdigit()}

    def reasons(self, numbers: Iterable[int]) -> dict[int, str]:
        """Returns the reason for which each of the dropped groups with these numbers was dropped, by number."""
        return {number: json.loads(self.storage.read(f"{DROPPED}/{number}.json"))["reason"] for number in numbers}

    def add(self, group: FinishedGroup, reason: str, versions: Versions) -> None:
        """Records that a group was dropped. `versions`: those of the weights then."""
        record = {
            "group_id": group.group_id,
            "reason": reason,
            "completed": group.completed,
            "oldest_version": group.version,
            "oldest_versions": group.versions,
            "version": versions.lowest,
            "versions": versions.of,
        }
        self.storage.write(f"{DROPPED}/{group.number}.json", json.dumps(record).encode())

    def forget(self, numbers: Iterable[int]) -> None:
        """Deletes the records of the dropped groups with these numbers."""
        for number in numbers:
            self.storage.delete(f"{DROPPED}/{number}.json")


@dataclass(slots=True)
class GroupQueue:
    """A queue holds finished groups in the order of their files' commits, though files may come out of order."""

    commit: int
    """Number of the last commit whose groups, and those of all commits before it, were put into the queue."""
    _waiting: deque[FinishedGroup] = field(default_factory=deque)
    _early: dict[int, Sequence[FinishedGroup]] = field(default_factory=dict)
    """Groups of the files that came before an older file, by the number of the commit."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, commit: int, groups: Sequence[FinishedGroup]) -> None:
        """Puts the groups of a commit into the queue. They wait until those of all commits before it are there."""
        self._early[commit] = groups
        while self.commit + 1 in self._early:
            self.commit += 1
            self._waiting.extend(self._early.pop(self.commit))

    def take(self, fits: Callable[[FinishedGroup], bool] = lambda group: True) -> FinishedGroup | None:
        """Takes the next group that fits; None if there is none yet."""
        for place, group in enumerate(self._waiting):
            if fits(group):
                del self._waiting[place]
                return group
        return None

    def put_back(self, groups: Sequence[FinishedGroup]) -> None:
        """Puts groups that were taken before all others."""
        self._waiting.extendleft(reversed(groups))

    def remove(self, reason_of: Callable[[FinishedGroup], str | None]) -> list[tuple[FinishedGroup, str]]:
        """Removes the groups for which `reason_of` gives a reason, and returns each with its reason."""
        found = [(group, reason) for group in self._waiting if (reason := reason_of(group)) is not None]
        gone = {group.number for group, _ in found}
        self._waiting = deque(group for group in self._waiting if group.number not in gone)
        return found


@dataclass(slots=True)
class Outbox:
    """An outbox delivers finished groups to the trainer, and drops those that it must not get."""

    options: StreamOptions
    window: Window
    """Window that is told which groups are delivered, acknowledged and dropped."""
    versions: Versions
    """Versions of the weights."""
    dropped: DroppedGroups
    queue: GroupQueue
    """Groups that the trainer has not taken yet."""
    drops_flat: bool = False
    """True to drop groups without spread."""
    ranks: Ranks | None = None
    """Ranks of the trainer that share the groups out; None if one process takes all."""
    counts: Counter[str] = field(default_factory=Counter)
    """Numbers of groups: delivered, acknowledged, and dropped as stale, small or flat (without spread)."""
    delivered_of: Counter[str] = field(default_factory=Counter)
    """Number of the delivered groups of each task."""
    stale_of: Counter[str] = field(default_factory=Counter)
    """Number of the groups of each task that were dropped as stale."""
    stale: set[int] = field(default_factory=set)
    """Numbers of the groups that were dropped as stale since the host looked last."""
    flat: set[int] = field(default_factory=set)
    """Numbers of the groups that were dropped for want of spread."""
    stalest: int = 0
    """Most versions that a delivered group was behind the weights."""
    _out: dict[int, FinishedGroup] = field(default_factory=dict)
    """Groups that are delivered and not acknowledged, by number."""
    _unreported: list[int] = field(default_factory=list)
    """Numbers of the dropped groups that the trainer does not know of yet."""

    async def put(self, commit: int, groups: Sequence[FinishedGroup]) -> None:
        """Puts the groups of a committed file into the outbox. Errors: OSError."""
        self.queue.put(commit, groups)
        await self._drop_unwanted()

    async def advance(self, versions: Versions) -> None:
        """Notes newer versions of the weights, and drops the groups that are too old for them.

        A model's older version is ignored. Errors: OSError.
        """
        newer = self.versions.merge(versions)
        if newer != self.versions:
            self.versions = newer
            self.window.advance()
            await self._drop_unwanted()

    def take(self, rank: int = 0) -> FinishedGroup | None:
        """Takes the next group of a rank, which counts as delivered from now on; None if there is none yet."""
        ranks = self.ranks
        group = self.queue.take() if ranks is None else self.queue.take(lambda group: ranks.assign(group) == rank)
        if group is not None:
            self.window.deliver(group.number)
            self._out[group.number] = group
            self.counts["delivered"] += 1
            self.delivered_of[group.task_id] += 1
            behind = (self.versions[model] - version for model, version in group.versions.items())
            self.stalest = max(self.stalest, *behind, 0)
        return group

    def acknowledge(self, numbers: Sequence[int]) -> None:
        """Notes that the trainer has acknowledged delivered groups. The numbers of other groups are ignored."""
        for number in numbers:
            if self._out.pop(number, None) is not None:
                self.window.acknowledge(number)
                self.counts["acknowledged"] += 1
                if self.ranks is not None:
                    self.ranks.acknowledge(number)

    def give_back(self, rank: int) -> None:
        """Takes the groups of a rank that has left, which are delivered and not acknowledged, back to deliver them
        again."""
        if self.ranks is not None:
            back = [group for group in self._out.values() if self.ranks.assign(group) == rank]
            for group in back:
                self._uncount(group)
            self.queue.put_back(back)

    async def refuse(self, number: int) -> None:
        """Drops a delivered group that the trainer refuses, since the weights have changed and it is too old now.

        A group that is not out is ignored. Errors: OSError.
        """
        if number in self._out:
            group = self._out[number]
            self._uncount(group)
            await self._drop(group, "stale")

    def take_dropped(self) -> tuple[int, ...]:
        """Returns the numbers of the groups that were dropped since the last call, except groups that were refused
        (`refuse`).
        """
        numbers, self._unreported = tuple(self._unreported), []
        return numbers

    def status(self) -> dict[str, Any]:
        """Returns the outbox's numbers by name: groups by state (`open`, `ahead`, `waiting`, `out`, `delivered`, ...),
        the bounds `max_open` and `max_ahead` (None: no bound), and `version`, that of the weights.

        `out` groups are delivered and not acknowledged. `stalest`: most versions that a delivered group was behind.
        `stale_by_task`: share of a task's groups that were dropped as stale, for the tasks that lost most.
        """
        return {
            "version": self.versions.lowest,
            "versions": dict(self.versions.of),
            "open": len(self.window.open),
            "max_open": self.window.max_open,
            "ahead": len(self.window.ahead),
            "max_ahead": self.window.max_ahead,
            "waiting": len(self.queue),
            "out": len(self._out),
            "stalest": self.stalest,
            **{name: self.counts[name] for name in ("delivered", "acknowledged", "stale", "small", "flat")},
            "stale_by_task": self._stale_shares(),
            **(self.ranks.status() if self.ranks else {}),
        }

    def _uncount(self, group: FinishedGroup) -> None:
        """Notes that a delivered group does not count as delivered."""
        del self._out[group.number]
        self.counts["delivered"] -= 1
        self.delivered_of[group.task_id] -= 1

    async def _drop_unwanted(self) -> None:
        """Drops the waiting groups that the trainer must not get. Errors: OSError."""
        for group, reason in self.queue.remove(self._reason_to_drop):
            self._unreported.append(group.number)
            await self._drop(group, reason)

    def _stale_shares(self) -> dict[str, float]:
        """Returns the share of a task's groups that were dropped as stale, for the SHOWN tasks that lost most."""
        lost = self.stale_of.most_common(SHOWN)
        return {task: count / (count + self.delivered_of[task]) for task, count in lost}

    def _reason_to_drop(self, group: FinishedGroup) -> str | None:
        reason = self.options.reason_to_drop(group, self.versions)
        return "flat" if reason is None and self.drops_flat and not group.has_spread else reason

    async def _drop(self, group: FinishedGroup, reason: str) -> None:
        """Drops a group for a reason, "small", "stale" or "flat". Errors: OSError."""
        self.window.drop(group.number)
        self.counts[reason] += 1
        if self.ranks is not None:
            self.ranks.drop(group.number, is_flat=reason == "flat")
        if reason == "flat":
            self.flat.add(group.number)
        if reason == "stale":
            self.stale.add(group.number)
            self.stale_of[group.task_id] += 1
        await asyncio.to_thread(self.dropped.add, group, reason, self.versions)
