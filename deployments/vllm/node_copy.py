"""Keeps a state dict as a checkpoint in the shared memory of this node: the first replica on the node that needs it
writes it, all replicas there load it, and the last one removes it.

vLLM loads checkpoints from a path with tensor parallelism and with any quantisation of its own; it could not take the
tensors. A replica that uses a copy holds a lock on it, which the kernel releases however the process ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from ray_gym.errors import UserError

MEMORY = Path("/dev/shm")
FILE = "model.safetensors"


def copies_dir(app: str) -> Path:
    """Returns the folder on this node for the copies of a Serve application. It is in the shared memory, or in the
    folder of temporary files if the node has no /dev/shm.
    """
    root = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    return root / f"ray_gym-weights-{os.getuid()}" / hashlib.sha256(app.encode()).hexdigest()[:16]


class NodeCopy:
    """Holds a checkpoint folder, locked against removal until `release`. The methods block, so they are called in
    threads.
    """

    def __init__(self, directory: Path, name: str, fetch: Callable[[], Mapping[str, Any]]) -> None:
        """Locks the copy `name` in `directory`, and writes it if there is none. `fetch`: returns the state dict to
        write; called only then. Other copies in `directory` that no process uses are removed.

        Errors: UserError if `fetch` returns no mapping of names to tensors of one kind (torch or numpy); OSError; those
        that `fetch` raises.
        """
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_unused(directory)
        self.folder = directory / name
        self._lock = _open_locked(_lock_path(self.folder), fcntl.LOCK_SH)
        if self.folder.exists():
            return
        self._lock.close()
        self._lock = _open_locked(_lock_path(self.folder), fcntl.LOCK_EX)
        try:
            if not self.folder.exists():
                _write(self.folder, fetch())
        except BaseException:
            self.release()
            raise
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def release(self) -> None:
        """Unlocks the copy, and removes it if no other process uses it."""
        if not self._lock.closed:
            _remove_if_unused(self.folder, self._lock)
            self._lock.close()


def remove_unused(directory: Path) -> None:
    """Removes the copies in a folder that no living process uses, as killed processes leave them."""
    for path in directory.glob("*.lock"):
        with path.open("a", encoding="utf-8") as lock:
            _remove_if_unused(path.with_suffix(""), lock)


def _lock_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _scratch_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.part")


def _open_locked(path: Path, how: int) -> IO[str]:
    """Returns the file at `path`, open and locked (`how`: LOCK_SH or LOCK_EX). Blocks until it has the lock. If another
    process removes the file meanwhile, a new file is opened and locked.
    """
    while True:
        lock = path.open("a", encoding="utf-8")
        fcntl.flock(lock, how)
        if path.exists() and path.stat().st_ino == os.fstat(lock.fileno()).st_ino:
            return lock
        lock.close()


def _remove_if_unused(folder: Path, lock: IO[str]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for path in (folder, _scratch_path(folder)):
        shutil.rmtree(path, ignore_errors=True)
    _lock_path(folder).unlink(missing_ok=True)


def _write(folder: Path, state: Mapping[str, Any]) -> None:
    """Writes a checkpoint to a scratch folder, and renames that to `folder`. Errors: UserError if the state is no
    mapping of names to tensors, or has tensors of both torch and numpy.
    """
    from safetensors import numpy as with_numpy
    from safetensors import torch as with_torch

    if not isinstance(state, Mapping) or not all(hasattr(tensor, "shape") for tensor in state.values()):
        raise UserError("state_dict: not a mapping of names to tensors (of torch or numpy)")
    scratch = _scratch_path(folder)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    tensors = {name: tensor for name, tensor in state.items() if hasattr(tensor, "detach")}
    if tensors and len(tensors) < len(state):
        raise UserError("state_dict: some tensors are of torch and some of numpy; give one kind")
    if tensors:
        with_torch.save_file(_unshare(tensors), scratch / FILE)
    else:
        import numpy as np

        with_numpy.save_file({name: np.ascontiguousarray(array) for name, array in state.items()}, scratch / FILE)
    scratch.rename(folder)


def _unshare(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tensors on the CPU. A tensor that shares memory with an earlier one, as tied weights do, is cloned,
    because safetensors refuses shared memory.
    """
    made: dict[str, Any] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        address = plain.untyped_storage().data_ptr()
        made[name] = plain.clone() if address in seen else plain
        seen.add(address)
    return made
