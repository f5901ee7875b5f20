"""Makes sure that only one driver writes a run directory. Each driver that opens it takes the next epoch; an older
driver notices that, and stops.

On a filesystem a lock keeps a second driver out, and the file `epoch` names the last driver. An object store has no
locks. There every driver writes an object of its own under `epoch/`, named by its number, and no driver overwrites
another's. After that it lists the objects, and steps back if it finds another of the same or a higher number. It also
steps back if it meets a driver that steps back, or if it was so slow that it may have missed one. So at most one driver
continues.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field
from errno import ENOENT
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ray_gym.errors import RunFailed, UserError
from ray_gym.run.directory.ownership import RunIsTaken

if TYPE_CHECKING:
    from ray_gym.run.directory.storage import Storage

EPOCH = "epoch"
LOCK = ".lock"
"""Name of the file that a driver on a filesystem locks."""
CLAIM_S = 0.2
"""Seconds for which a claim waits for the lock, since one who looks whether it is held may hold it for a moment."""
BEAT_S = 10.0
"""Seconds between two heartbeats of a driver on an object store."""
ALIVE_S = 35.0
"""Seconds for which a driver counts as alive after a heartbeat. Three heartbeats may get lost."""
SAID_BYTES = 1024
"""Length in bytes of the object that a driver writes. It is always the same, since a reader asks for an object's length
first, and may then read a newer object."""
JOIN_S = 5.0
"""Seconds that a heartbeat under way may delay the end of a run."""


def _new_portrait(epoch: int) -> dict[str, Any]:
    return {"epoch": epoch, "nonce": secrets.token_hex(8), "host": socket.gethostname(), "pid": os.getpid()}


def _last_epoch(storage: Storage) -> int:
    """Returns the epoch of the last driver, as the file `epoch` has it. Errors: UserError if it is damaged; OSError."""
    try:
        return int(json.loads(storage.read(EPOCH))["epoch"])
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{storage.location}/{EPOCH}: this file is damaged ({error}); if no driver writes the run, delete the file"
        ) from None


def _takeover_error(storage: Storage, epoch: int) -> RunFailed:
    return RunFailed(
        f"another driver took over {storage.location} (epoch {epoch}); this one writes nothing more. What it committed is kept"
    )


@dataclass
class FileOwner:
    """Owns a run on a filesystem by a lock and by the file `epoch`. The kernel releases the lock when this process
    ends.
    """

    storage: Storage
    lock: IO[str] = field(repr=False)
    """Open file that holds the lock."""
    portrait: dict[str, Any]
    """Content of the file `epoch`: epoch, a random text, host and process of this driver."""

    @classmethod
    def claim(cls, storage: Storage, path: Path) -> FileOwner:
        """Locks the file at `path`, takes the next epoch, and returns the claim. Errors: RunIsTaken if another driver
        has the lock; UserError if the file `epoch` is damaged; OSError.
        """
        lock = path.open("w", encoding="utf-8")
        if not _locked(lock, fcntl.LOCK_EX, CLAIM_S):
            lock.close()
            raise RunIsTaken(
                f"{storage.location}: another driver is writing this run; wait for it, or stop it first"
            ) from None
        try:
            last = _last_epoch(storage) if storage.exists(EPOCH) else 0
        except (UserError, OSError):
            lock.close()
            raise
        portrait = _new_portrait(last + 1)
        storage.write(EPOCH, json.dumps(portrait).encode())
        return cls(storage, lock, portrait)

    @staticmethod
    def has(path: Path) -> bool:
        """Says whether a driver has locked the file at `path`. Errors: OSError."""
        try:
            with path.open(encoding="utf-8") as lock:
                return not _locked(lock, fcntl.LOCK_SH, 0)
        except FileNotFoundError:
            return False

    @property
    def epoch(self) -> int:
        """Returns the number of this driver among the drivers that the run has had, from 1."""
        return int(self.portrait["epoch"])

    def check(self) -> None:
        """Checks that the file `epoch` still names this driver. Errors: RunFailed if it names another driver, which
        took over; OSError.
        """
        there = json.loads(self.storage.read(EPOCH))
        if there != self.portrait:
            raise _takeover_error(self.storage, there["epoch"])

    def release(self) -> None:
        """Releases the lock, so that another driver may claim the run."""
        self.lock.close()

    def withdraw(self) -> None:
        """Releases the lock of a run that is about to be removed."""
        self.lock.close()


def _locked(file: IO[str], how: int, within_s: float) -> bool:
    """Locks an open file, and returns True if that was possible within so many seconds."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)


class ObjectOwner:
    """Owns a run on an object store by an object that it writes again every `BEAT_S` seconds while this driver
    lives.
    """

    def __init__(self, storage: Storage, portrait: dict[str, Any], beat_s: float) -> None:
        self._storage = storage
        self._portrait = portrait
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(beat_s,), name="run-heartbeat", daemon=True)

    @classmethod
    def claim(cls, storage: Storage, alive_s: float = ALIVE_S, beat_s: float = BEAT_S) -> ObjectOwner:
        """Takes the next epoch, starts the heartbeat, and returns the claim. alive_s: seconds for which a driver counts
        as alive after a heartbeat. beat_s: seconds between two heartbeats.

        Errors: RunIsTaken while another driver lives, if one opens the run at the same moment, or if this takes so long
        that one may have done so; OSError.
        """
        began = time.monotonic()
        last = _newest(storage)
        now = _server_time(storage) if last else 0.0
        for name in last:
            try:
                _refuse_if_alive(storage, name, now, alive_s)
            except FileNotFoundError:  # it met a driver that isn't in this list, which may continue
                raise _meeting_error(storage) from None
        owner = cls(storage, _new_portrait(max(map(_number, last), default=0) + 1), beat_s)
        owner._write(released=False)
        met = any(_number(name) >= owner.epoch and name != owner.name for name in storage.names(EPOCH))
        was_slow = time.monotonic() - began >= ALIVE_S  # then one may have come, counted as gone, and stepped back
        if met or was_slow:
            storage.delete(f"{EPOCH}/{owner.name}")
            raise _meeting_error(storage)
        owner._thread.start()
        return owner

    @staticmethod
    def has(storage: Storage, alive_s: float = ALIVE_S) -> bool:
        """Says whether a driver's object is not released and was written within the last `alive_s` seconds by this
        machine's clock: the store's is not asked, for which something would have to be written. Errors: OSError.
        """
        try:
            for name in _newest(storage):
                with contextlib.suppress(FileNotFoundError):  # it stepped back
                    _refuse_if_alive(storage, name, time.time(), alive_s)
        except RunIsTaken:
            return True
        return False

    @property
    def epoch(self) -> int:
        """Returns the number of this driver among the drivers that the run has had, from 1."""
        return int(self._portrait["epoch"])

    @property
    def name(self) -> str:
        """Returns the name of this driver's object in the folder `epoch`."""
        return f"{self.epoch:06d}-{self._portrait['nonce']}.json"

    def check(self) -> None:
        """Checks that no newer driver has an object, and that this driver's is still there. Errors: RunFailed if a
        newer driver took over, or if the run was deleted; OSError.
        """
        names = self._storage.names(EPOCH)
        newest = max(map(_number, names), default=0)
        if newest > self.epoch:
            raise _takeover_error(self._storage, newest)
        if self.name not in names:  # another may have begun with the first epoch again
            raise RunFailed(f"{self._storage.location} was deleted under its driver; this one writes nothing more")

    def release(self) -> None:
        """Ends the heartbeat, and marks this driver's object as released, so that another driver may claim the run at
        once. If it can't be marked, no error is raised. Does nothing if the heartbeat was ended before.
        """
        if self._ended.is_set():
            return
        self.withdraw()
        with contextlib.suppress(OSError):  # else it counts as gone when its last beat is old enough
            self._write(released=True)

    def withdraw(self) -> None:
        """Ends the heartbeat, and leaves this driver's object as it is. Waits up to `JOIN_S` seconds for a heartbeat
        under way.
        """
        self._ended.set()
        self._thread.join(JOIN_S)

    def _beat(self, beat_s: float) -> None:
        while not self._ended.wait(beat_s):
            with contextlib.suppress(OSError):  # the next beat may get through; a commit says what is wrong
                self._write(released=False)

    def _write(self, released: bool) -> None:
        said = json.dumps({**self._portrait, "released": released, "heartbeat": time.time()})
        self._storage.write(f"{EPOCH}/{self.name}", said.encode().ljust(SAID_BYTES))


def _meeting_error(storage: Storage) -> RunIsTaken:
    return RunIsTaken(f"{storage.location}: another driver opened this run at the same moment; look whether it goes on")


def _number(name: str) -> int:
    return int(name.partition("-")[0])


def _newest(storage: Storage) -> list[str]:
    """Returns the names of the objects of the highest epoch; none if there is no object. There are several if drivers
    opened the run at the same moment.
    """
    names = storage.names(EPOCH)
    highest = max(map(_number, names), default=0)
    return [name for name in names if _number(name) == highest]


def _refuse_if_alive(storage: Storage, name: str, now: float, alive_s: float) -> None:
    """Checks that the driver of an object is gone: it has released the run, or its last heartbeat is `alive_s` seconds
    old. Errors: RunIsTaken if it lives; FileNotFoundError if it stepped back just now; OSError.
    """
    said = json.loads(storage.read(f"{EPOCH}/{name}"))
    age = now - _written_at(storage, f"{EPOCH}/{name}")
    if not said["released"] and age < alive_s:
        raise RunIsTaken(
            f"{storage.location}: another driver is writing this run; wait for it, or stop it first (it is process {said['pid']} "
            f"on {said['host']}; should it have died, it counts as gone {alive_s:g} s after it last showed itself, {age:.0f} s ago)"
        )


def _server_time(storage: Storage) -> float:
    """Returns the time of the store's own clock, in Unix seconds. Objects' times are of that clock; the clocks of two
    drivers may differ. Writes an object for it, and deletes it. Errors: OSError.
    """
    name = f".clock-{secrets.token_hex(8)}"
    storage.write(name, b"")
    try:
        return _written_at(storage, name)
    finally:
        storage.delete(name)


def _written_at(storage: Storage, name: str) -> float:
    written = storage.filesystem.get_file_info(storage.at(name)).mtime_ns
    if written is None:  # nothing is there
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), storage.at(name))
    return float(written) / 1e9
