"""What replicas hold: a version, and where its weights come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ray_gym.errors import UserError

LARGEST_VERSION = 2**31 - 1
"""Versions are int32 in the record."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A checkpoint that every node sees; with `adapter`, a LoRA adapter on the weights that are loaded."""

    path: str
    adapter: bool = False

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class StateDict:
    """Tensors by name in Ray's object store. The reference is in a tuple, since Ray would put its value in the place of a bare one."""

    reference: tuple[Any]
    id: str
    """Of this one alone: versions that were refused may come again with other tensors."""

    def __str__(self) -> str:
        return "a state dict"


@dataclass(frozen=True, slots=True)
class Transferred:
    """From a trainer's memory into the replicas'. `last` is what can still be loaded: what came before, by any other way."""

    last: Checkpoint

    def __str__(self) -> str:
        return "transferred weights"


Source = Folder | StateDict | Transferred | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One version of a model's weights. `source` None: what the engine loads by itself when it comes up.

    A version with an adapter also names the version without one that it is for.
    """

    version: int
    source: Source
    base: Checkpoint | None = None

    def __str__(self) -> str:
        return f"version {self.version}"

    @property
    def is_adapter(self) -> bool:
        return isinstance(self.source, Folder) and self.source.adapter

    @property
    def loadable(self) -> Checkpoint:
        """What a replica that starts can load. An adapter is nothing without the weights below it."""
        below = self.whole.source
        return below.last if isinstance(below, Transferred) else self

    @property
    def whole(self) -> Checkpoint:
        """The weights without an adapter."""
        return self.base or self


def next_checkpoint(current: Checkpoint, version: int, source: Folder | StateDict) -> Checkpoint:
    """Errors: UserError, as `check_version`."""
    check_version(current, version)
    adapter = isinstance(source, Folder) and source.adapter
    return Checkpoint(version, source, current.whole if adapter else None)


def check_version(current: Checkpoint, version: int) -> None:
    """Errors: UserError for one that is not greater than the current one, or is no int32."""
    if version > LARGEST_VERSION:
        raise UserError(f"version: {version} is more than {LARGEST_VERSION}")
    if version <= current.version:
        raise UserError(f"version: {version} is not greater than {current.version}, which is being served")
