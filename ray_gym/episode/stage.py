"""A stage is what the episodes of a run have in common: who plays with which models, by which rules and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from ray_gym.aio.deadlines import SharedTimers
from ray_gym.aio.pace import Pace
from ray_gym.config.sections import LimitsSection
from ray_gym.episode.call_slots import CallSlots
from ray_gym.episode.participant import Participant
from ray_gym.episode.rules import Rules
from ray_gym.metrics.playing import PlayMetrics
from ray_gym.models.base import Model
from ray_gym.tools.runner import ToolRunner


@dataclass(frozen=True, slots=True)
class Stage:
    """Holds what a worker's episodes are played on; there is one a worker."""

    environment: Rules
    participants: Mapping[str, Participant]
    models: Mapping[str, Model]
    limits: LimitsSection
    tool_runner: ToolRunner = field(default_factory=ToolRunner)
    call_slots: CallSlots = field(default_factory=CallSlots)
    under_way: WeakSet[Any] = field(default_factory=WeakSet)
    """Episodes that are played on it, as long as anybody holds them."""
    metrics: PlayMetrics = field(default_factory=PlayMetrics)
    deadlines: SharedTimers = field(default_factory=SharedTimers)
    pace: Pace = field(default_factory=Pace)
