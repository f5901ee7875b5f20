"""The writer of one journal file: a worker appends what happened, and leaves out what is committed now and then.

`process` durability: a record survives the death of every process once `append` has returned. `disk`: once `sync` has returned it
also survives the machine, as far as the disk honours flushes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.records import Opened, Record, decode, encode

COMPACT_FROM_BYTES = 8 * 2**20
"""Less than this is never worth a compaction."""


class Journal:
    def __init__(self, path: Path, run_id: str, *, flush: bool) -> None:
        """Makes the file. Errors: FileExistsError; OSError."""
        self.path = path
        self._run_id = run_id
        self._flush = flush
        self._lock = threading.Lock()  # the watchdog's thread appends too
        self._fd = _create(path)
        self._size = 0
        self._bytes: Counter[str] = Counter()
        self._forgotten: set[str] = set()
        self._flushed = 0
        self._flushing = asyncio.Lock()
        self._compacting = False
        self.broken: OSError | None = None
        """Set when a record could not be written: what is played after that could not be gone on with."""
        self._write(self._head())

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
        wanted = self._size
        async with self._flushing:
            if self._flushed < wanted:
                reached = self._size
                await asyncio.to_thread(os.fdatasync, self._fd)
                self._flushed = reached

    def forget(self, episodes: Iterable[str]) -> None:
        """These are committed: their records are not needed any more."""
        for episode in episodes:
            if self._bytes.pop(episode, None) is not None:
                self._forgotten.add(episode)

    async def compact_if_due(self) -> None:
        """Rewrite the file without what was forgotten, when that is most of it. Its size is so bounded by what is in flight."""
        live = self._bytes.total()
        if self._compacting or self._size - live < max(live, COMPACT_FROM_BYTES):
            return
        self._compacting = True
        try:
            await self._compact()
        finally:
            self._compacting = False

    async def _compact(self) -> None:
        forgotten, upto = frozenset(self._forgotten), self._size
        scratch = self.path.with_suffix(".compacting")
        try:
            await asyncio.to_thread(_copy_live, self.path, scratch, upto, self._head(), forgotten)
        except FileNotFoundError:  # fenced
            return
        with self._lock:
            if self.is_fenced():
                scratch.unlink(missing_ok=True)
                return
            new = os.open(scratch, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            with self.path.open("rb") as old:
                old.seek(upto)
                os.write(new, old.read())  # what came meanwhile: little
            if self._flush:
                os.fdatasync(new)
            scratch.rename(self.path)
            os.dup2(new, self._fd)
            os.close(new)
            self._size = self._flushed = self.path.stat().st_size
        self._forgotten -= forgotten

    def is_fenced(self) -> bool:
        """Whether the run took this file over: its writer counts as lost, and nothing that it still writes is ever used."""
        try:
            return self.path.stat().st_ino != os.fstat(self._fd).st_ino
        except FileNotFoundError:
            return True

    def close(self) -> None:
        os.close(self._fd)

    def _head(self) -> bytes:
        return HEAD + frame(encode(Opened(self._run_id, self.path.stem)))

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._fd, data)
            self._size += written
            if written < len(data):
                raise OSError(f"only {written} of {len(data)} bytes could be written; is the disk full?")
        except OSError as error:
            self.broken = OSError(f"journal {self.path}: {error.strerror or error}")
            raise self.broken from error


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _copy_live(source: Path, target: Path, upto: int, head: bytes, forgotten: frozenset[str]) -> None:
    data = source.read_bytes()[:upto]
    with target.open("wb") as file:
        file.write(head)
        for _, payload in Scan(data):
            record = decode(payload)
            if not isinstance(record, Opened) and record.episode not in forgotten:
                file.write(frame(payload))
