"""Checks the folders of output and journals: each node can write there, all nodes see it, and locks hold
between nodes.
"""

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
    """Writes, flushes, locks and renames the file `name` in a folder. Returns the problem as text if a step failed, or
    if less than `ENOUGH_FREE` bytes are left; else None.
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
    """Returns a problem that names the nodes whose files are missing, or do not have the content that they wrote; None
    if all are there.

    `written`: names of nodes, by the names of their files.
    """
    missing = [node for name, node in written.items() if not _is_whole(folder / name, name)]
    return f"{folder}: does not see what was written by {', '.join(missing)}" if missing else None


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Holds a lock in a folder until the context ends, while the nodes try to take it. Errors: OSError if it can't be
    taken.
    """
    with (folder / LOCK).open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def lock_problem(folder: Path) -> str | None:
    """Tries to take the lock that another machine holds with `hold_lock`. Returns None if the lock is refused, as it
    should be; else the problem as text: the folder has no locks, or the lock was given to this node, too.
    """
    try:
        with (folder / LOCK).open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError as error:
        return f"{folder} has no locks (flock): {error.strerror or error}"
    return f"{folder}: a lock that another node holds was given to this one, too"


def _lock_problem(path: Path) -> str | None:
    """Returns a problem if a lock on a file is given to two handles on this node; None if the second is refused.
    Errors: OSError if the file can't be locked.
    """
    with path.open("r+", encoding="utf-8") as one, path.open("r+", encoding="utf-8") as other:
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
    return f"{path.parent} takes locks (flock), and they don't lock"


def _is_whole(path: Path, name: str) -> bool:
    """Returns True if a file can be read, and its content is `name`."""
    try:
        return path.read_bytes() == name.encode()
    except OSError:
        return False
