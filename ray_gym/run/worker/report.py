"""Defines the report that a worker gives its driver."""

from __future__ import annotations

from dataclasses import dataclass, field

from ray_gym.run.driver.lease import EpisodeKey
from ray_gym.run.worker.receipt import Receipt


@dataclass(frozen=True, slots=True)
class StagedFile:
    name: str
    episodes: tuple[EpisodeKey, ...]


@dataclass(slots=True)
class Report:
    """Tells the driver a worker's news: `over` are played, and wait for the rest of their groups; `finished` have a
    row; `staged` are files of rows.
    """

    over: list[EpisodeKey] = field(default_factory=list)
    finished: list[Receipt] = field(default_factory=list)
    staged: list[StagedFile] = field(default_factory=list)
