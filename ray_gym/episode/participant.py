"""Defines a participant: someone who speaks, as tools and hooks see them, with what the config gave them."""

from __future__ import annotations

from dataclasses import dataclass

from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.messages import ToolChoice
from ray_gym.models.base import Sampling


@dataclass(frozen=True, slots=True)
class Participant:
    name: str
    model: str
    sampling: Sampling
    trainable: bool
    max_turns: int
    max_steps_per_turn: int
    system_prompt: str | None = None
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = False
    stop_text: str | None = None
    concurrency: int | None = None

    @staticmethod
    def from_config(name: str, section: ParticipantSection, limits: LimitsSection) -> Participant:
        return Participant(
            name=name,
            model=section.model,
            sampling=section.sampling,
            trainable=section.trainable if section.trainable is not None else name == "policy",
            max_turns=section.max_turns or limits.max_turns,
            max_steps_per_turn=section.max_steps_per_turn or limits.max_steps_per_turn,
            system_prompt=section.system_prompt,
            tool_choice=section.tool_choice,
            parallel_tool_calls=section.parallel_tool_calls,
            stop_text=section.stop_text,
            concurrency=section.concurrency,
        )
