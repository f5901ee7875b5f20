"""Numbers the commits of a run, in the names of the files in `episodes/`, so that sorted names are in commit order."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Self

from ray_gym.run.directory.storage import EPISODES, Storage

PART = "part-"
"""Prefix of the names of staged files."""
_COMMITTED = re.compile(r"part-([0-9]{8,})-(.+)", re.ASCII)


def name_when_committed(number: int, staged: str) -> str:
    """Returns the name that a staged file gets as commit `number`: part-X becomes part-NNNNNNNN-X."""
    return f"{PART}{number:08d}-{staged.removeprefix(PART)}"


def name_when_staged(committed: str) -> str:
    """Returns the name that a committed file had while it was staged. A name without a number is returned as it is."""
    found = _COMMITTED.fullmatch(committed)
    return f"{PART}{found[2]}" if found else committed


def number_of(name: str) -> int | None:
    """Returns the number of the commit in the name of a committed file; None if the name has none, as in older
    versions.
    """
    found = _COMMITTED.fullmatch(name)
    return int(found[1]) if found else None


def last_number(names: Iterable[str]) -> int:
    """Returns the highest number of a commit among the names of files; 0 if there is none."""
    return max((number for name in names if (number := number_of(name)) is not None), default=0)


class CommitOrder:
    """Numbers the commits of a run without gaps. As a context manager it holds a lock; `publish` must be called within
    it, so that files appear in the order of their numbers.
    """

    def __init__(self) -> None:
        self.last = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def go_on(self, storage: Storage) -> None:
        """Looks up the number of the last commit in the storage, after which the next one continues. Errors:
        OSError.
        """
        self.last = last_number(storage.names(EPISODES))

    def publish(self, storage: Storage, staged: str) -> str:
        """Publishes a staged file under the next number, and returns its new name. Errors: OSError; the file may have
        been published nevertheless, and then its number counts as taken.
        """
        name = name_when_committed(self.last + 1, staged)
        try:
            storage.publish(staged, name)
        except OSError:
            self.go_on(storage)
            raise
        self.last += 1
        return name
