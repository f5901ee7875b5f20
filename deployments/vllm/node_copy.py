"""Keeps a state dict as a checkpoint in the memory of this node: the first of its replicas writes it, all of them load
it, the last removes it.

Loading by path works with tensor parallelism and any quantisation that vLLM does itself; handing tensors over would
not. A user of a copy holds a lock on it, which the kernel drops however a process ends.
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
    root = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    return root / f"ray_gym-weights-{os.getuid()}" / hashlib.sha256(app.encode()).hexdigest()[:16]


class NodeCopy:
    """A copy is a checkpoint folder that is locked while it is used. It blocks, so it is made and released in
    a thread.
    """

    def __init__(self, directory: Path, name: str, fetch: Callable[[], Mapping[str, Any]]) -> None:
        """Locks the copy, and writes it if it is not there. Errors: UserError if `fetch` gives no state dict;
        OSError.
        """
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_unused(directory)
        self.folder = directory / name
        self._lock = _locked(_lock_path(self.folder), fcntl.LOCK_SH)
        if self.folder.exists():
            return
        self._lock.close()
        self._lock = _locked(_lock_path(self.folder), fcntl.LOCK_EX)
        try:
            if not self.folder.exists():
                _write(self.folder, fetch())
        except BaseException:
            self.release()
            raise
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def release(self) -> None:
        if not self._lock.closed:
            _remove_if_unused(self.folder, self._lock)
            self._lock.close()


def remove_unused(directory: Path) -> None:
    """Removes the copies that killed processes have left."""
    for path in directory.glob("*.lock"):
        with path.open("a") as lock:
            _remove_if_unused(path.with_suffix(""), lock)


def _lock_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _scratch_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.part")


def _locked(path: Path, how: int) -> IO[str]:
    """Returns the file, open and locked. Its last user may have removed it while this process waited for its lock."""
    while True:
        lock = path.open("a")
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
    """Writes a checkpoint, and renames it into place whole. Errors: UserError."""
    from safetensors import numpy as with_numpy
    from safetensors import torch as with_torch

    if not isinstance(state, Mapping) or not all(hasattr(tensor, "shape") for tensor in state.values()):
        raise UserError("state_dict: not a mapping of names to tensors (of torch or numpy)")
    scratch = _scratch_path(folder)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    tensors = {name: tensor for name, tensor in state.items() if hasattr(tensor, "detach")}
    if tensors and len(tensors) < len(state):
        raise UserError("state_dict: some tensors are torch's and some numpy's; give one kind")
    if tensors:
        with_torch.save_file(_apart(tensors), scratch / FILE)
    else:
        import numpy as np

        with_numpy.save_file({name: np.ascontiguousarray(array) for name, array in state.items()}, scratch / FILE)
    scratch.rename(folder)


def _apart(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Copies tensors to the CPU so that none shares memory with another, as tied ones do."""
    made: dict[str, Any] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        address = plain.untyped_storage().data_ptr()
        made[name] = plain.clone() if address in seen else plain
        seen.add(address)
    return made
