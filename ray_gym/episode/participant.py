"""Defines the description of a participant of an episode, which tools and hooks get: its name, its model, its limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.messages import ToolChoice
from ray_gym.models.base import Sampling


@dataclass(frozen=True, slots=True)
class Participant:
    """Describes a participant of an episode: its model, how the model is asked, and the participant's limits."""

    name: str
    """Name under `participants` in the config, e.g. policy."""
    model: str
    """Name of its model under `models` in the config."""
    sampling: Sampling
    trainable: bool
    """True if its samples may be trained on."""
    max_turns: int
    """Most turns that it may have in an episode."""
    max_steps_per_turn: int
    """Most model calls that it may make in one turn."""
    system_prompt: str | None = None
    """System prompt of the config; None if the config has none."""
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = False
    """Under `tool_choice: required`: True if one message may hold several calls."""
    stop_text: str | None = None
    """Text that ends the episode when this participant says it; None for no such text."""
    is_agent: bool = False
    """True if a program plays it, which makes the calls of its model."""
    concurrency: int | None = None
    """Most of its calls that may be under way at once in a worker; None means no limit."""

    def __str__(self) -> str:
        """Returns the name, so that no setting gets into a text."""
        return self.name

    def __eq__(self, other: object) -> bool:
        """Says whether another object is a participant of the same name, or the name itself: no settings count, so that
        two which equal one name equal each other.
        """
        return self.name == (other.name if isinstance(other, Participant) else other)

    def __hash__(self) -> int:
        return hash(self.name)

    @staticmethod
    def from_config(name: str, section: ParticipantSection, limits: LimitsSection) -> Participant:
        """Makes a participant from its section of the config; `limits` has the defaults."""
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
            is_agent=section.agent is not None,
            concurrency=section.concurrency,
        )


def require_participant(name: str, participants: Collection[str], asked: str) -> None:
    """Checks that there is a participant of a name. `participants`: names of those that there are; `asked`: the function
    that was given the name. Errors: ValueError.
    """
    if name not in participants:
        raise ValueError(f"{asked}: there is no participant {name!r}; there are: {', '.join(participants)}")
