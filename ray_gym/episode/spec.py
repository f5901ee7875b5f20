"""Defines the spec that fully determines an episode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Determines an episode fully, beside the config. `task` is a validated row as JSON."""

    episode_id: str
    group_id: str
    task_id: str
    repeat: int
    seed: int
    task: str
    try_: int = 0
    attempt: int = 0
