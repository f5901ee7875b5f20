"""Stands in for the models of a stage: those of judges may be brought up later, those of players never are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import Completion, CompletionRequest, Model


@dataclass(slots=True)
class LiveModels:
    """Holds the models of judges, once they are up."""

    up: dict[str, Model] = field(default_factory=dict)
    """Connections to models by name; empty until the first question that no record answers."""

    @property
    def are_up(self) -> bool:
        """Says whether the models are up."""
        return bool(self.up)

    def stand_in(self, names: set[str]) -> Mapping[str, Model]:
        """Returns a model for each name, which passes its calls on to the live one."""
        return {name: StandIn(name, self) for name in names}


@dataclass(frozen=True, slots=True)
class StandIn:
    """Passes calls on to a live model."""

    name: str
    models: LiveModels

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the live model's completion. Errors: EpisodeFailure (infra) if the model is not up; those of the
        model.
        """
        model = self.models.up.get(self.name)
        if model is None:
            raise EpisodeFailure(FailureKind.INFRA, f"model {self.name}", "it is not up", retry=False)
        return await model.complete(request)

    async def close(self) -> None:
        """Does nothing: the live models are closed once."""
