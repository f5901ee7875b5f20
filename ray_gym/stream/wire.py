"""What passes between a trainer's end of a stream and its host, beside numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ray_gym.config import RunConfig
from ray_gym.models.base import Engine
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.finished import Finished
from ray_gym.stream.options import StreamOptions


@dataclass(frozen=True, slots=True)
class HostSetup:
    config: RunConfig
    config_file: Path
    engines: Mapping[str, Engine]
    """Not started yet."""
    options: StreamOptions
    cursor: Cursor | None
    version: int


@dataclass(frozen=True, slots=True)
class Opened:
    """`dropped`: groups that are settled beside those of the cursor."""

    name: str
    location: str
    cursor: Cursor
    dropped: frozenset[int]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A group (None: there will be no more), those that were dropped since the last one, and the version of the weights now."""

    group: Finished | None
    dropped: tuple[int, ...]
    version: int
