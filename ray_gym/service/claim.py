"""One service at a time goes on with what is in a directory, also if two are on clusters that know nothing of each other."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ray_gym.errors import UserError

LOCK = ".lock"


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """By a lock that the kernel drops when this process ends, however it ends. Errors: UserError, OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"service.name: another service is up in {directory}; end that one, or choose another service.name or output.dir"
            ) from None
        yield
