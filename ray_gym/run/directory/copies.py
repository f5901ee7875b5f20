"""Finds copies of committed files that somebody else has put beside them: a synchroniser's, a file manager's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from ray_gym.errors import UserError
from ray_gym.run.directory.parquet import RowsFile

_OWN = re.compile(r"part-[A-Za-z0-9_-]+\.parquet")
"""Form of the names that are given to committed files. Copies are named otherwise: `part-1 (copy).parquet`."""
_ID = "episode_id"


class CommittedFiles(Protocol):
    """Opens the committed files of a run, as a `Storage` does."""

    def at(self, name: str) -> str: ...

    def committed(self) -> list[str]: ...

    def open_committed(self, name: str) -> AbstractContextManager[RowsFile]: ...


def without_copies(storage: CommittedFiles, names: Iterable[str]) -> list[str]:
    """Returns the names of committed files, in the same order, without those of another form whose episodes are all in
    others. Only where there is such a name, ids are read. Errors: OSError.
    """
    names = list(names)
    kept = {name for name in names if _OWN.fullmatch(name)}
    if len(kept) == len(names):
        return names
    known = {episode_id for name in kept for episode_id in _ids(storage, name)}
    for name in names:
        ids = set() if name in kept else set(_ids(storage, name))
        if not ids or not ids <= known:
            kept.add(name)
            known |= ids
    return [name for name in names if name in kept]


def held_twice(storage: CommittedFiles, episode_id: str) -> UserError:
    """Returns the error that says which files of a run hold an episode that is there twice, and what to do. Errors:
    OSError.
    """
    holders = [name for name in storage.committed() for found in _ids(storage, name) if found == episode_id]
    first, again = holders[0], holders[-1]
    twice = "twice" if first == again else f"that {first} has, too"
    return UserError(
        f"{storage.at(f'episodes/{again}')}: it holds episodes {twice} (one is {episode_id}): if it is a copy, move it out "
        "of episodes/"
    )


def _ids(storage: CommittedFiles, name: str) -> Iterator[str]:
    """Yields the ids of a file's episodes; none if it can't be read, which its readers tell."""
    try:
        with storage.open_committed(name) as file:
            ids = file.table([_ID]).column(_ID).to_pylist()
    except (UserError, FileNotFoundError):
        return
    yield from ids
