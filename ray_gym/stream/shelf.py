"""Finished groups that wait for their trainer, in the order in which their files were committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ray_gym.stream.finished import Finished


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
