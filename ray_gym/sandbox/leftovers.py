"""Gives sandboxes folders on this machine, and removes what dead workers left of theirs.

Each folder has a lock, which its worker holds, and the kernel frees however the worker dies. Whoever sweeps takes the
locks that are free: what is below them has no owner any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from ray_gym.errors import UserError
from ray_gym.sandbox.cgroup import MOUNT, Cgroup
from ray_gym.sandbox.limits import SandboxLimits

VARIABLE = "RAY_GYM_SANDBOX"
"""Environment variable of all programs of a sandbox: the name of its place."""
LOCK, FILES, CONTAINER, CGROUP = "lock", "files", "container", "cgroup"
NEW = ".new-"
NEW_S = 60.0
"""Seconds after which a folder that was not finished has no owner any more."""
REMOVE_S = 30.0
LOOK_S = 0.01
MOST_LOOKS = 300
"""Looks at processes that were killed; some wait for a disk before they die."""
ENGINES = ("podman", "docker")


class Place:
    """A place is a folder of this machine that belongs to one sandbox, as long as this process holds its lock."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self.cgroup: Cgroup | None = None
        self._lock = lock

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def files(self) -> Path:
        """Returns the folder for the sandbox's own files."""
        return self.folder / FILES

    @property
    def mark(self) -> dict[str, str]:
        """Returns the environment by which the sandbox's processes are found."""
        return {VARIABLE: self.name}

    def note_container(self, engine: str) -> None:
        """Notes that the sandbox is a container of this name, which `engine` has to remove."""
        (self.folder / CONTAINER).write_text(engine, "utf-8")

    def make_cgroup(self, parent: Path, limits: SandboxLimits) -> None:
        """Makes a cgroup for the sandbox, and notes it. Errors: OSError if it can't be made."""
        (self.folder / CGROUP).write_text(str(parent), "utf-8")
        self.cgroup = Cgroup.make(parent, self.name, limits)

    def confined(self, command: list[str], parent: Path | None, limits: SandboxLimits) -> list[str]:
        """Returns the command that joins a cgroup of the sandbox's own first; as it is where none can be made: then the
        supervisor's looks have to do. `parent`: cgroup to make it in; None if there is none.
        """
        if parent is not None:
            with contextlib.suppress(OSError):
                self.make_cgroup(parent, limits)
        return command if self.cgroup is None else self.cgroup.joined(command)

    def remove(self, is_clean: bool = False) -> None:
        """Kills what is left of the sandbox's processes, and removes its folder. It may be called again. `is_clean`:
        none of its processes is left, so that none is looked for.
        """
        if self._lock >= 0:
            _remove(self.folder, is_clean)
            os.close(self._lock)
            self._lock = -1


def take_place(root: Path | None = None) -> Place:
    """Makes a folder for a sandbox. `root`: folder that all places are in; None: the user's own, in the temporary folder.

    Errors: UserError if the root belongs to somebody else, or can't be written.
    """
    root = root or root_here()
    _check_root(root)
    name = uuid.uuid4().hex[:16]
    new = root / f"{NEW}{name}"
    new.mkdir(mode=0o700)
    lock = os.open(new / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (new / FILES).mkdir()
    return Place(new.rename(root / name), lock)


def root_here() -> Path:
    """Returns the folder that the user's places are in."""
    return Path(tempfile.gettempdir()) / f"ray_gym_sandboxes-{os.getuid()}"


def sweep(root: Path | None = None) -> int:
    """Removes the places whose workers are dead, with their processes and containers. Returns their number."""
    root = root or root_here()
    with contextlib.suppress(FileNotFoundError):
        _check_root(root, make=False)
        return sum(_sweep_one(folder) for folder in root.iterdir())
    return 0


def _sweep_one(folder: Path) -> bool:
    try:
        if folder.name.startswith(NEW) and time.time() - folder.stat().st_mtime < NEW_S:
            return False
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _check_root(root: Path, make: bool = True) -> None:
    """Checks the root of places, and makes it. Errors: UserError unless it is a folder of this user's; FileNotFoundError."""
    try:
        if make:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = root.lstat()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"sandboxes: can't make {root}: {error.strerror}; set TMPDIR to a folder of yours") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise UserError(f"sandboxes: {root} belongs to another user; remove it, or set TMPDIR to a folder of yours")


def _remove(folder: Path, is_clean: bool = False) -> None:
    """Kills processes with the folder's mark, removes its cgroup and container, and then itself."""
    if not is_clean:
        _kill_marked(folder.name)
    with contextlib.suppress(OSError):
        parent = Path((folder / CGROUP).read_text("utf-8")).resolve()
        if parent.is_relative_to(MOUNT):
            Cgroup.of(parent, folder.name).remove()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        engine = (folder / CONTAINER).read_text("utf-8")
        if engine in ENGINES:
            command = [engine, "rm", "--force", container_name(folder.name)]
            subprocess.run(command, timeout=REMOVE_S, capture_output=True, check=False)
    for place, names, _ in os.walk(folder):  # programs may have taken themselves rights of their folders
        for path in (Path(place) / name for name in names):
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def container_name(place: str) -> str:
    """Returns the name of the container of a place."""
    return f"ray-gym-{place}"


def _kill_marked(name: str) -> None:
    """Kills all processes that have the mark of a place, and looks again until there is none."""
    mark = f"{VARIABLE}={name}".encode()
    for _ in range(MOST_LOOKS):
        killed = 0
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in environ.read_bytes().split(b"\0"):
                    os.kill(int(environ.parent.name), signal.SIGKILL)
                    killed += 1
        if not killed:
            return
        time.sleep(LOOK_S)
