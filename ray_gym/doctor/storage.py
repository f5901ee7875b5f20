"""Checks the folders of output and journals: each node can write, all see it, and locks hold between nodes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ENOUGH_FREE = 2**30
"""Bytes that have to be free."""
LOCK = "lock"


def write_problem(folder: Path, name: str) -> str | None:
    """Writes a file of this node's own, and says what goes wrong: making, flushing, renaming or locking it, or too
    little room for more.
    """
    try:
        scratch, final = folder / f".{name}.new", folder / name
        with scratch.open("wb") as file:
            file.write(name.encode())
            file.flush()
            os.fsync(file.fileno())
            if problem := _lock_problem(scratch):
                return problem
        scratch.rename(final)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"can't write in {folder}: {error.strerror or error}"
    return None if free >= ENOUGH_FREE else f"{folder} has {free / 2**20:.0f} MiB left"


def read_problem(folder: Path, written: Mapping[str, str]) -> str | None:
    """Names the nodes whose files are missing, or do not hold what they wrote.

    `written`: nodes by the names of their files.
    """
    missing = [node for name, node in written.items() if not _is_whole(folder / name, name)]
    return f"{folder}: does not see what was written by {', '.join(missing)}" if missing else None


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Holds a lock here, while the nodes try to take it. Errors: OSError."""
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def lock_problem(folder: Path) -> str | None:
    """Tries on a node to take the lock that `hold_lock` holds elsewhere, and says what is wrong with locks there."""
    try:
        with (folder / LOCK).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError as error:
        return f"{folder} has no locks (flock): {error.strerror or error}"
    return f"{folder}: a lock that another node holds was given to this one, too"


def _lock_problem(path: Path) -> str | None:
    """Says whether locks hold between two handles of one file on this node."""
    with path.open("r+") as one, path.open("r+") as other:
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
    return f"{path.parent} takes locks (flock), and they don't lock"


def _is_whole(path: Path, name: str) -> bool:
    """Says whether a file holds its own name."""
    try:
        return path.read_bytes() == name.encode()
    except OSError:
        return False
