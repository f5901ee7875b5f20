"""What a worker tells the driver."""

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
    """`over`: played, and waiting for the rest of their groups; `finished`: with a row; `staged`: files of rows."""

    over: list[EpisodeKey] = field(default_factory=list)
    finished: list[Receipt] = field(default_factory=list)
    staged: list[StagedFile] = field(default_factory=list)
