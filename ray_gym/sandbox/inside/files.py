"""Reads and writes files of the sandbox's folder, and of no other place."""

from __future__ import annotations

import contextlib
import os
import stat


class Refused(Exception):
    """Says why a path can't be read or written."""


def read(folder: str, path: str, most: int) -> bytes:
    """Returns the bytes of a file. Errors: Refused, also for a file of more than `most` bytes; OSError."""
    descriptor = _open(folder, path, os.O_RDONLY)
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        data = file.read(most + 1) if size <= most else b""
        if size > most or len(data) > most:
            raise Refused(f"{path} has more than {most} bytes")
        return data


def write(folder: str, path: str, data: bytes, is_executable: bool) -> None:
    """Writes a file in place of one that is there; folders that are missing are made. Errors: Refused, OSError."""
    descriptor = _open(folder, path, os.O_WRONLY | os.O_CREAT)
    with open(descriptor, "wb") as file:
        os.ftruncate(descriptor, 0)
        file.write(data)
        if is_executable:
            os.fchmod(descriptor, 0o755)


def folder_in(folder: str, path: str) -> str:
    """Returns the absolute path of a folder in the sandbox's folder. Errors: Refused."""
    place = _inside(folder, path)
    if not os.path.isdir(place):
        raise Refused(f"{path} is not a folder of the sandbox")
    return place


def _inside(folder: str, path: str) -> str:
    """Returns a path with its links followed. Errors: Refused if it leads out of the folder."""
    if not path or "\0" in path or os.path.isabs(path) or ".." in path.split("/"):
        raise Refused(f"{path!r} is refused: a path is relative to the sandbox's folder, without ..")
    home = os.path.realpath(folder)
    place = os.path.realpath(os.path.join(home, path))
    if place != home and not place.startswith(home + "/"):
        raise Refused(f"{path!r} is refused: a link in it leads out of the sandbox's folder")
    return place


def _open(folder: str, path: str, flags: int) -> int:
    """Opens a file. Its folders are opened one below the other and no link is followed any more, so that a program that
    changes them meanwhile gains nothing. Errors: Refused, OSError.
    """
    place = _inside(folder, path)
    home = os.path.realpath(folder)
    *above, name = place[len(home) :].strip("/").split("/")
    at = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in above:
            if flags & os.O_CREAT:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=at)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        if not name:
            raise Refused(f"{path} is a folder")
        found = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, 0o644, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise Refused(f"{path} is not a file")
    return found
