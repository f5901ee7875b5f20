"""Defines a stage, which holds what all episodes of a worker share: environment, participants, models and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from ray_gym.aio.deadlines import SharedTimers
from ray_gym.aio.pace import Pace
from ray_gym.config.interpolations import Interpolation
from ray_gym.config.sections import LimitsSection
from ray_gym.episode.agents import Agents
from ray_gym.episode.call_slots import CallSlots
from ray_gym.episode.meter import Meter
from ray_gym.episode.participant import Participant
from ray_gym.episode.rules import Rules
from ray_gym.metrics.playing import PlayMetrics
from ray_gym.models.base import Model
from ray_gym.models.price import Price
from ray_gym.models.versions import Versions
from ray_gym.sandbox.supply import SandboxSupply
from ray_gym.tools.runner import ToolRunner


@dataclass(slots=True)
class ToldVersions:
    """Holds the versions of the weights that the run was told of last, for the tokens of models that don't tell them."""

    versions: Versions = field(default_factory=Versions)


@dataclass(frozen=True, slots=True)
class Stage:
    """Holds everything that the episodes of one worker share."""

    environment: Rules
    """Environment that all its episodes play."""
    participants: Mapping[str, Participant]
    """Participants by name."""
    models: Mapping[str, Model]
    """Connections to models by name."""
    limits: LimitsSection
    """Limits of each episode."""
    tool_runner: ToolRunner = field(default_factory=ToolRunner)
    """Runner of the tool calls of all episodes."""
    call_slots: CallSlots = field(default_factory=CallSlots)
    """Slots that limit how many calls of a participant are under way at once."""
    under_way: WeakSet[Any] = field(default_factory=WeakSet)
    """Episodes that are played now. The references are weak."""
    metrics: PlayMetrics = field(default_factory=PlayMetrics)
    deadlines: SharedTimers = field(default_factory=SharedTimers)
    """Timers that the deadlines of all model calls share."""
    pace: Pace = field(default_factory=Pace)
    told: ToldVersions = field(default_factory=ToldVersions)
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices of models by name, of those that have one."""
    meter: Meter = field(default_factory=Meter)
    """Meter of all model calls."""
    agents: Agents | None = None
    """Programs that play participants; None if there are none."""
    sandboxes: SandboxSupply | None = None
    """Sandboxes of the episodes; None if there are none."""
    filled_in: tuple[Interpolation, ...] = ()
    """Values of the config that failures show as its file has them, with ${...}."""
