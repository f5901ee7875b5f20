"""Describes the weights that replicas hold: their version, and their source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ray_gym.errors import UserError

LARGEST_VERSION = 2**31 - 1
"""Largest version: versions are int32 in the record."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Names a folder with a checkpoint, which every node must see. If `adapter` is True, it holds a LoRA adapter for
    the weights that are loaded.
    """

    path: str
    adapter: bool = False

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class StateDict:
    """Refers to tensors by name (a state dict) in Ray's object store.

    `reference` is a tuple, since Ray would put the tensors in the place of a bare reference. It holds None once the
    holder of the weights was started again: then the tensors are lost.
    """

    reference: tuple[Any]
    id: str
    """Id that no other state dict has. The version would not do: one that was refused may come again with other
    tensors.
    """

    def __str__(self) -> str:
        return "a state dict"


@dataclass(frozen=True, slots=True)
class Transferred:
    """Says that the weights were transferred from a trainer's memory into the replicas'.

    No replica can load them later. `last` is the newest checkpoint before them that can be loaded.
    """

    last: Checkpoint

    def __str__(self) -> str:
        return "transferred weights"


Source = Folder | StateDict | Transferred | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint is one version of a model's weights. `source` None stands for the weights that the engine loads by
    itself when it starts.

    `base`: for a version with a LoRA adapter, the version without one that it belongs to; else None.
    """

    version: int
    source: Source
    base: Checkpoint | None = None

    def __str__(self) -> str:
        return f"version {self.version}"

    @property
    def is_adapter(self) -> bool:
        """Returns True if the version is a LoRA adapter for other weights."""
        return isinstance(self.source, Folder) and self.source.adapter

    @property
    def loadable(self) -> Checkpoint:
        """Returns the checkpoint that a replica can load when it starts: this one, unless its weights, or those that
        its adapter is for, were transferred. Then it is the newest one before the transfer.
        """
        below = self.whole.source
        return below.last if isinstance(below, Transferred) else self

    @property
    def whole(self) -> Checkpoint:
        """Returns the checkpoint without its adapter; itself if it has none."""
        return self.base or self


def next_checkpoint(current: Checkpoint, version: int, source: Folder | StateDict) -> Checkpoint:
    """Returns a checkpoint of a newer version. An adapter gets the current weights, without their own adapter, as its
    base.

    Errors: UserError if `version` is not greater than the current one, or exceeds int32.
    """
    check_version(current, version)
    adapter = isinstance(source, Folder) and source.adapter
    return Checkpoint(version, source, current.whole if adapter else None)


def check_version(current: Checkpoint, version: int) -> None:
    """Checks a new version. Errors: UserError if it is not greater than the current one, or exceeds int32."""
    if version > LARGEST_VERSION:
        raise UserError(f"version: {version} is more than {LARGEST_VERSION}")
    if version <= current.version:
        raise UserError(f"version: {version} is not greater than {current.version}, which is being served")
