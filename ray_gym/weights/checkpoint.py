"""Describes the weights that replicas hold: their version, and their source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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

    reference: tuple[Any] = field(compare=False)
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

    `base`: for a version with a LoRA adapter, the version without one that it belongs to; else None. `line`: line of
    adapters that it belongs to (`ray_gym.weights.lines`); "" for the weights themselves, and an adapter of their own.
    """

    version: int
    source: Source
    base: Checkpoint | None = None
    line: str = ""

    def __str__(self) -> str:
        return f"version {self.version} of {self.line}" if self.line else f"version {self.version}"

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
        """Returns the weights below the checkpoint's adapter, of no line; itself if it has neither."""
        return self.base or (replace(self, line="") if self.line else self)


def next_checkpoint(current: Checkpoint, version: int, source: Folder | StateDict) -> Checkpoint:
    """Returns a checkpoint of a newer version, of the same line. An adapter gets the current weights, without their own
    adapter, as its base.

    Errors: UserError if `version` is not greater than the current one, or exceeds int32; or if a line gets other
    weights than an adapter.
    """
    check_version(current, version)
    adapter = isinstance(source, Folder) and source.adapter
    if current.line and not adapter:
        raise UserError(
            f"update: the line {current.line} takes adapters only, and {source} is none; give adapter=FOLDER, or change "
            "the weights below all lines by those of the model that the line is on"
        )
    return Checkpoint(version, source, current.whole if adapter else None, current.line)


def check_version(current: Checkpoint, version: int) -> None:
    """Checks a new version. Errors: UserError if it is not greater than the current one, or exceeds int32."""
    if version > LARGEST_VERSION:
        raise UserError(f"version: {version} is more than {LARGEST_VERSION}")
    if version <= current.version:
        what = f"the line {current.line} serves" if current.line else "is being served"
        raise UserError(f"version: {version} is not greater than {current.version}, which {what}")
