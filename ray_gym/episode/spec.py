"""Defines the specification of an episode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Determines, together with the config, everything about an episode that is not a model's answer."""

    episode_id: str
    group_id: str
    """Id of the group, which all episodes of one task share."""
    task_id: str
    repeat: int
    """Number of the episode in its group, from 0."""
    seed: int
    """Seed of all random numbers of the episode."""
    task: str
    """Validated row of the task, as JSON text."""
    try_: int = 0
    """Number of times that the episode was begun anew after a failure, from 0."""
    attempt: int = 0
    """Number of this attempt, from 0. A worker that resumes the episode is given the next number."""
