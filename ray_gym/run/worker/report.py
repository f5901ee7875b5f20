"""Defines the report that a worker gives its driver."""

from __future__ import annotations

from dataclasses import dataclass, field

from ray_gym.episode.purse import Funds
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.lease import EpisodeKey


@dataclass(frozen=True, slots=True)
class StagedFile:
    """Names a staged file, and the attempts whose rows it holds."""

    name: str
    episodes: tuple[EpisodeKey, ...]


@dataclass(slots=True)
class Report:
    """Tells the driver what happened at a worker since its last report."""

    over: list[EpisodeKey] = field(default_factory=list)
    """Attempts that are over. Their rows may have to wait for the rest of their groups."""
    finished: list[Receipt] = field(default_factory=list)
    """Receipts of the attempts that have become rows."""
    staged: list[StagedFile] = field(default_factory=list)
    """Files of rows that were staged."""
    warnings: list[str] = field(default_factory=list)
    """Warnings of the models, for the user."""
    funds: Funds | None = None
    """State of the allotment that the worker's calls are paid from; None if the run's cost has no limit."""
