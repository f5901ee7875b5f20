"""Defines the values that a trainer and the host of its stream give each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ray_gym.config.sections import RunConfig
from ray_gym.models.base import Engine
from ray_gym.models.versions import Versions
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.options import StreamOptions


@dataclass(frozen=True, slots=True)
class HostSetup:
    """Holds everything that a host is made from. It is pickled."""

    config: RunConfig
    config_file: Path
    """Path of the config. Relative paths of task files are looked for beside it."""
    engines: Mapping[str, Engine]
    """Engines of the models by name, not started yet."""
    options: StreamOptions
    cursor: Cursor | None
    """Cursor to resume from; None to begin."""
    versions: Versions
    """Versions of the weights, as the trainer knows them."""


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """Describes a stream that was opened."""

    name: str
    """Name of the stream's run."""
    location: str
    """Location of the run directory."""
    cursor: Cursor
    """Cursor at which the stream is resumed, or begins."""
    dropped: frozenset[int]
    """Numbers of the dropped groups from the cursor's `next` on."""
    flat: frozenset[int]
    """Numbers of those that were dropped for want of spread."""


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """Describes a stream that a rank has joined."""

    location: str
    """Location of the run directory."""
    cursor: Cursor
    """Cursor of all ranks."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery tells the trainer of a group."""

    group: FinishedGroup | None
    """Next group; None if there will be no more."""
    dropped: tuple[int, ...]
    """Numbers of the groups that were dropped since the last delivery."""
    flat: frozenset[int]
    """Numbers of those that were dropped for want of spread."""
    versions: Versions
    """Versions of the weights now."""
