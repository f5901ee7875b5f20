"""Writes one journal file. A worker appends records to it, and compacts it now and then, without the episodes that are
committed.

With `process` durability, a record survives the death of every process once `append` has returned. With `disk`, it also
survives the machine once `sync` has returned, as far as the disk obeys flushes.

A compacted file replaces the old one in one step, and only if the old one is still in its place. So a writer whose file
was fenced never brings it back. On a filesystem that can't do that (NFS, for example) the file just grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from ray_gym.journal.folder import flush_folder
from ray_gym.journal.frames import HEAD, frame
from ray_gym.journal.history import COMPACTING
from ray_gym.journal.places import Pieces, Places
from ray_gym.journal.records import EpisodeRecord, Opened, encode

COMPACT_FROM_BYTES = 8 * 2**20
"""Least number of bytes that a compaction has to free."""
_COPIED_AT_ONCE = 2**20
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux's


class Journal:
    """Writes one journal file. Its records may be appended by several threads."""

    def __init__(self, path: Path, run_id: str, *, flush: bool) -> None:
        """Creates the file, and writes its head. `flush`: True for `disk` durability. Errors: FileExistsError;
        OSError.
        """
        self.path = path
        self._run_id = run_id
        self._flush = flush
        self._lock = threading.Lock()  # the watchdog's thread appends too
        self._fd = _create(path)
        self._size = 0
        self._appended = 0
        self._places = Places()
        self._flushed = 0
        """Number of appended bytes that are flushed. It only grows, even if a compaction shrinks the file."""
        self._flushing = asyncio.Lock()
        self._compacting = False
        self._compact_from = 0
        self.broken: OSError | None = None
        """Error for which records may be missing from the file; None if there is none. Episodes that are played after
        it can't be resumed."""
        self._write(self._head())
        if flush:
            flush_folder(path.parent)

    @property
    def size(self) -> int:
        """Returns the size of the file in bytes, which a compaction reduces."""
        return self._size

    @property
    def appended(self) -> int:
        """Returns the number of bytes that were ever appended, also those that compactions left out."""
        return self._appended

    @property
    def unsynced(self) -> int:
        """Returns the number of bytes that are not flushed yet; 0 without `disk` durability."""
        return self._appended - self._flushed if self._flush else 0

    def append(self, record: EpisodeRecord) -> None:
        """Appends a record. May be called in several threads at once.

        Errors: OSError (a full disk, for example), which is also kept in `broken`. The record may be torn then, and the
        journal is not to be used any more.
        """
        data = frame(encode(record))
        with self._lock:
            begin = self._size
            self._write(data)
            self._places.add(record.episode, begin, len(data))

    async def sync(self) -> None:
        """Waits until all records that were appended before are on the disk, if the durability is `disk`; else returns
        at once. Several callers share one flush. Errors: OSError.
        """
        if not self._flush:
            return
        wanted = self._appended
        async with self._flushing:
            if self._flushed < wanted:
                reached = self._appended
                await asyncio.to_thread(os.fdatasync, self._fd)
                self._flushed = max(self._flushed, reached)

    def forget(self, episodes: Iterable[str]) -> None:
        """Marks the records of these episodes as not needed, so that the next compaction leaves them out."""
        with self._lock:
            for episode in episodes:
                self._places.forget(episode)

    async def compact_if_due(self) -> None:
        """Rewrites the file without forgotten records, if these are at least half of it, and at least 8 MiB. So its
        size stays proportional to the episodes in flight. Does nothing while another compaction runs, or if the journal
        is broken.

        If a compaction fails, no error is raised: the file stays as it is, and the next attempt is made when its size
        has doubled.
        """
        live = self._places.bytes
        due = max(2 * live, live + COMPACT_FROM_BYTES, self._compact_from)
        if self._size < due or self._compacting or self.broken:
            return
        self._compacting = True
        done = await asyncio.to_thread(self._compact)
        self._compact_from = 0 if done else 2 * self._size

    def _compact(self) -> bool:
        """Compacts the file, and returns True if that succeeded. It runs in a thread, which a cancellation does not
        stop.
        """
        scratch, head = self.path.with_suffix(COMPACTING), self._head()
        try:
            scratch.unlink(missing_ok=True)
            with self.path.open("rb") as old, scratch.open("ab") as new:
                with self._lock:
                    pieces = self._live_pieces(old, len(head))
                new.write(head)
                _copy_live(old, new, pieces)
                new.flush()
                if self._flush:
                    os.fdatasync(new.fileno())  # the big part, while others append
                with self._lock:
                    self._replace(old, scratch, new, pieces)
            return True
        except Exception:  # no room, no memory: a failed compaction must not end the episodes
            return False
        finally:
            with contextlib.suppress(OSError):
                scratch.unlink()  # by now the old file's name
            self._compacting = False

    def _live_pieces(self, old: BinaryIO, to: int) -> Pieces:
        """Returns the pieces of the file that are needed, and their places in the new file.

        Errors: OSError if another process has changed the file.
        """
        if os.fstat(old.fileno()).st_size != self._size:
            raise OSError(f"{self.path} was changed by somebody else")
        return self._places.pieces(self._size, to)

    def _replace(self, old: BinaryIO, scratch: Path, new: BinaryIO, pieces: Pieces) -> None:
        """Puts the new file in the old one's place, with the records that were appended meanwhile. Errors: OSError;
        FileNotFoundError if the old file was fenced.
        """
        _copy(old, new, pieces.tail, self._size)  # records that were appended meanwhile: few
        new.flush()
        if self._flush:
            os.fdatasync(new.fileno())
        moved = self._places.move(pieces)  # before: nothing may go wrong between the exchange and its consequences
        _exchange(scratch, self.path)
        os.dup2(new.fileno(), self._fd, inheritable=False)
        self._size = os.fstat(self._fd).st_size
        self._places.take(moved)
        if self._flush:
            try:
                flush_folder(self.path.parent)
            except OSError as error:
                self.broken = self._named(error)
                raise
        self._flushed = self._appended

    def is_fenced(self) -> bool:
        """Says whether the file is no longer in its place, because the run has fenced it. Then the writer counts as
        lost, and its later records are never read. Errors: OSError.
        """
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
        """Closes the file. Nothing may be appended afterwards."""
        os.close(self._fd)

    def _head(self) -> bytes:
        return HEAD + frame(encode(Opened(self._run_id, self.path.stem)))

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._fd, data)
            self._size += written
            self._appended += written
            if written < len(data):
                raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes could be written; is the disk full?")
        except OSError as error:
            self.broken = self._named(error)
            raise self.broken from error

    def _named(self, error: OSError) -> OSError:
        """Returns an error of the same number that names the journal."""
        return OSError(error.errno, f"journal {self.path}: {error.strerror or error}")


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _copy_live(old: BinaryIO, new: BinaryIO, pieces: Pieces) -> None:
    """Copies the pieces of a file but the tail, byte by byte. Damaged ones stay damaged, so that a reader of the new
    file reports them. Errors: OSError.
    """
    for begin, end in pieces:
        _copy(old, new, begin, end)


def _copy(old: BinaryIO, new: BinaryIO, begin: int, end: int) -> None:
    while begin < end:
        data = os.pread(old.fileno(), min(end - begin, _COPIED_AT_ONCE), begin)
        if not data:
            raise OSError(f"{old.name} ends before byte {end}")
        new.write(data)
        begin += len(data)


def _exchange(one: Path, other: Path) -> None:
    """Swaps the names of two files in one step. Errors: OSError if one of them is gone, or the filesystem can't do
    that.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
