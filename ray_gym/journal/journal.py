"""The writer of one journal file: a worker appends what happened, and leaves out what is committed now and then.

`process` durability: a record survives the death of every process once `append` has returned. `disk`: once `sync` has returned it
also survives the machine, as far as the disk honours flushes.

A compacted file takes the old one's place only if that is still there, in one step, so that a writer whose file was fenced never
brings it back. Where the filesystem can't do that (NFS, say) the file just grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.records import Opened, Record, encode, episode_of

COMPACT_FROM_BYTES = 8 * 2**20
"""Less than this is never worth a compaction."""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux's


class Journal:
    def __init__(self, path: Path, run_id: str, *, flush: bool) -> None:
        """Makes the file. Errors: FileExistsError; OSError."""
        self.path = path
        self._run_id = run_id
        self._flush = flush
        self._lock = threading.Lock()  # the watchdog's thread appends too
        self._fd = _create(path)
        self._size = 0
        self._appended = 0
        self._bytes: Counter[str] = Counter()
        self._forgotten: set[str] = set()
        self._flushed = 0
        """Of what was appended: it only grows, whatever a compaction does to the file."""
        self._flushing = asyncio.Lock()
        self._compacting = False
        self._compact_from = 0
        self.broken: OSError | None = None
        """Set when a record could not be written: what is played after that could not be gone on with."""
        self._write(self._head())
        if flush:
            _flush_folder(path.parent)

    @property
    def size(self) -> int:
        return self._size

    def append(self, record: Record) -> None:
        """Errors: OSError (a full disk, say): the record may then be torn, and nothing after it counts as written."""
        data = frame(encode(record))
        with self._lock:
            self._write(data)
            if not isinstance(record, Opened):
                self._bytes[record.episode] += len(data)

    async def sync(self) -> None:
        """Wait until all that was appended is on the disk, if that is what the run asks for; many wait for one flush."""
        if not self._flush:
            return
        wanted = self._appended
        async with self._flushing:
            if self._flushed < wanted:
                reached = self._appended
                await asyncio.to_thread(os.fdatasync, self._fd)
                self._flushed = max(self._flushed, reached)

    def forget(self, episodes: Iterable[str]) -> None:
        """These are committed: their records are not needed any more."""
        for episode in episodes:
            if self._bytes.pop(episode, None) is not None:
                self._forgotten.add(episode)

    async def compact_if_due(self) -> None:
        """Rewrite the file without what was forgotten, when that is most of it. Its size is so bounded by what is in flight.

        Whatever goes wrong, the file stays as it is, and it is tried again once that has doubled.
        """
        live = self._bytes.total()
        if self._compacting or self._size < max(2 * live, live + COMPACT_FROM_BYTES, self._compact_from):
            return
        self._compacting = True
        forgotten = frozenset(self._forgotten)
        if await asyncio.to_thread(self._compact, self._size, forgotten):
            self._forgotten -= forgotten
        else:
            self._compact_from = 2 * self._size

    def _compact(self, upto: int, forgotten: frozenset[str]) -> bool:
        """Whether it was done. In a thread, and whole: nobody's cancellation stops it half-way."""
        scratch = self.path.with_suffix(".compacting")
        try:
            scratch.unlink(missing_ok=True)
            with scratch.open("ab") as new:
                _copy_live(self.path, new, upto, self._head(), forgotten)
                new.flush()
                if self._flush:
                    os.fdatasync(new.fileno())  # the big part, while others append
                with self._lock:
                    self._replace(scratch, new, upto)
            return True
        except (OSError, msgspec.MsgspecError):
            return False
        finally:
            with contextlib.suppress(OSError):
                scratch.unlink()  # by now the old file's name
            self._compacting = False

    def _replace(self, scratch: Path, new: BinaryIO, upto: int) -> None:
        """Put the new file in the old one's place. Errors: OSError; FileNotFoundError if the old one was fenced."""
        with self.path.open("rb") as old:
            old.seek(upto)
            new.write(old.read())  # what came meanwhile: little
        new.flush()
        if self._flush:
            os.fdatasync(new.fileno())
        _exchange(scratch, self.path)
        os.dup2(new.fileno(), self._fd, inheritable=False)
        self._size = os.fstat(self._fd).st_size
        if self._flush:
            try:
                _flush_folder(self.path.parent)
            except OSError as error:
                self.broken = OSError(f"journal {self.path}: {error.strerror or error}")
                raise
        self._flushed = self._appended

    def is_fenced(self) -> bool:
        """Whether the run took this file over: its writer counts as lost, and nothing that it still writes is ever used."""
        if self._is_in_place():
            return False
        with self._lock:  # a compaction may just have been replacing it
            return not self._is_in_place()

    def _is_in_place(self) -> bool:
        try:
            return self.path.stat().st_ino == os.fstat(self._fd).st_ino
        except FileNotFoundError:
            return False

    def close(self) -> None:
        os.close(self._fd)

    def _head(self) -> bytes:
        return HEAD + frame(encode(Opened(self._run_id, self.path.stem)))

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._fd, data)
            self._size += written
            self._appended += written
            if written < len(data):
                raise OSError(f"only {written} of {len(data)} bytes could be written; is the disk full?")
        except OSError as error:
            self.broken = OSError(f"journal {self.path}: {error.strerror or error}")
            raise self.broken from error


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _copy_live(source: Path, target: BinaryIO, upto: int, head: bytes, forgotten: frozenset[str]) -> None:
    """Errors: OSError, also if the source is damaged: then it is left to be reported; msgspec.MsgspecError."""
    with source.open("rb") as file:
        scan = Scan(file.read(upto))
    target.write(head)
    for _, payload in scan:
        episode = episode_of(payload)
        if episode is not None and episode not in forgotten:
            target.write(frame(payload))
    if scan.problems:
        raise OSError(f"{source} is damaged: {scan.problems[0]}")


def _exchange(one: Path, other: Path) -> None:
    """Swap two files' names in one step. Errors: OSError: one of them is gone, or the filesystem can't do that."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))


def _flush_folder(folder: Path) -> None:
    """What is in it by which name. Errors: OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
