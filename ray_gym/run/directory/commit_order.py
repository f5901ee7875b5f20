"""How files in `episodes/` are named: by the number of the commit that made them part of the run. Sorted names are commit order."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Self

from ray_gym.run.directory.storage import EPISODES, Storage

PART = "part-"
"""What names of staged files begin with."""
_COMMITTED = re.compile(r"part-([0-9]{8,})-(.+)", re.ASCII)


def committed_name(number: int, staged: str) -> str:
    return f"{PART}{number:08d}-{staged.removeprefix(PART)}"


def staged_name(committed: str) -> str:
    """What a committed file was called when it was staged."""
    found = _COMMITTED.fullmatch(committed)
    return f"{PART}{found[2]}" if found else committed


def number_of(name: str) -> int | None:
    """None for a file of an older version, which gave no numbers."""
    found = _COMMITTED.fullmatch(name)
    return int(found[1]) if found else None


def last_number(names: Iterable[str]) -> int:
    """0 if nothing was committed."""
    return max((number for name in names if (number := number_of(name)) is not None), default=0)


class CommitOrder:
    """Gives the numbers, without holes and none twice. Held while a file is published, so none shows up before an earlier one."""

    def __init__(self) -> None:
        self.last = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def go_on(self, storage: Storage) -> None:
        """From what is there."""
        self.last = last_number(storage.names(EPISODES))

    def publish(self, storage: Storage, staged: str) -> str:
        """Gives the committed file's name. Errors: OSError; then the file may be there all the same."""
        name = committed_name(self.last + 1, staged)
        try:
            storage.publish(staged, name)
        except OSError:
            self.go_on(storage)
            raise
        self.last += 1
        return name
