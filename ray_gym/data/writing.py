"""Writes files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_files(directory: Path, files: Mapping[str, bytes], stale: Iterable[str] = ()) -> None:
    """Writes files into a directory, by name, and deletes the files named by `stale`.

    A new directory appears with all its files at once. In an existing one each file is replaced whole, in order, and
    stale files are deleted last. Errors: OSError if the disk or the folder refuses it.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    if directory.exists():
        for name, data in files.items():
            write_file(directory / name, data)
        for name in stale:
            (directory / name).unlink(missing_ok=True)
        return
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}.") as scratch:
        made = Path(scratch) / directory.name
        made.mkdir()
        for name, data in files.items():
            write_file(made / name, data)
        made.rename(directory)


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all, and makes its folders. Errors: OSError if the disk or the folder refuses."""
    write_chunks(path, (data,))


def write_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """Writes a file from chunks, which need not fit into memory together, and makes its folders.

    Errors: OSError if the disk or the folder refuses it; exceptions of `chunks`. Then the file stays as it was.
    """
    with replaced(path) as file:
        file.writelines(chunks)


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Opens a file that takes the place of `path` when the block ends, and makes its folders.

    Errors: OSError if the disk or the folder refuses it; exceptions of the block. Then the file stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with scratch.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
