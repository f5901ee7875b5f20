"""Describes the weights that replicas hold: a version, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ray_gym.errors import UserError

LARGEST_VERSION = 2**31 - 1
"""Largest version: versions are int32 in the record."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder holds a checkpoint that every node sees; with `adapter`, a LoRA adapter on the weights that are
    loaded.
    """

    path: str
    adapter: bool = False

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class StateDict:
    """A state dict holds tensors by name in Ray's object store.

    The reference is in a tuple, since Ray would put its value in the place of a bare one.
    """

    reference: tuple[Any]
    id: str
    """Id of this state dict alone: versions that were refused may come again with other tensors."""

    def __str__(self) -> str:
        return "a state dict"


@dataclass(frozen=True, slots=True)
class Transferred:
    """Weights of this source were transferred from a trainer's memory into the replicas'.

    `last` is what can still be loaded: the weights before, which came by another way.
    """

    last: Checkpoint

    def __str__(self) -> str:
        return "transferred weights"


Source = Folder | StateDict | Transferred | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint is one version of a model's weights. `source` None stands for the weights that the engine loads by
    itself when it comes up.

    A version with an adapter also names, in `base`, the version without one that it is for.
    """

    version: int
    source: Source
    base: Checkpoint | None = None

    def __str__(self) -> str:
        return f"version {self.version}"

    @property
    def is_adapter(self) -> bool:
        """Returns True if the version is an adapter on other weights."""
        return isinstance(self.source, Folder) and self.source.adapter

    @property
    def loadable(self) -> Checkpoint:
        """Returns the checkpoint that a replica can load when it starts.

        An adapter is nothing without the weights below it.
        """
        below = self.whole.source
        return below.last if isinstance(below, Transferred) else self

    @property
    def whole(self) -> Checkpoint:
        """Returns the weights without an adapter."""
        return self.base or self


def next_checkpoint(current: Checkpoint, version: int, source: Folder | StateDict) -> Checkpoint:
    """Makes the checkpoint that follows the current one. Errors: UserError, as `check_version`."""
    check_version(current, version)
    adapter = isinstance(source, Folder) and source.adapter
    return Checkpoint(version, source, current.whole if adapter else None)


def check_version(current: Checkpoint, version: int) -> None:
    """Checks a new version. Errors: UserError if it is not greater than the current one, or is no int32."""
    if version > LARGEST_VERSION:
        raise UserError(f"version: {version} is more than {LARGEST_VERSION}")
    if version <= current.version:
        raise UserError(f"version: {version} is not greater than {current.version}, which is being served")
