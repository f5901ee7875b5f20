"""What a service offers: environments by name, each with the participants who play it and the tasks that can be named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ray_gym.config import EnvironmentSection, ParticipantSection, RunConfig, TasksSection
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.run.plan import make_environment
from ray_gym.service.api import EnvironmentInfo
from ray_gym.service.errors import Refused

DEFAULT = "default"
"""The source that is taken where a request names no tasks."""


@dataclass(frozen=True, slots=True)
class Offer:
    name: str
    environment: EnvironmentSection
    participants: Mapping[str, ParticipantSection]
    sources: Mapping[str, TasksSection]

    place: tuple[str, ...] = ()
    """Where in the service's config it stands."""

    def config(self, config: RunConfig, **changes: Any) -> RunConfig:
        """The service's, with this environment and these participants, and the changes, in the place of its own."""
        moved = {(*self.place, name): (name,) for name in ("environment", "participants")}
        own = {"environment": self.environment, "participants": dict(self.participants)}
        return config.taking(moved, **{**own, **changes})

    def info(self, config: RunConfig) -> EnvironmentInfo:
        """Errors: UserError for options that the environment doesn't take."""
        environment = make_environment(self.config(config), self.name)
        own = ["the task's own"] if environment.brings_tools() else []
        return EnvironmentInfo(
            name=self.name,
            description=(environment.__doc__ or "").strip().partition("\n")[0],
            pattern=environment.pattern,
            participants=list(environment.participants),
            auxiliary=list(environment.auxiliary),
            tools=[*environment.tools, *own],
            scoring=environment.scoring,
            reward_range=environment.reward_range,
            task_schema=environment.task_type.model_json_schema(),
            generates=type(environment).generate is not Environment.generate,
        )


def offers_of(config: RunConfig) -> dict[str, Offer]:
    """By the name that callers give; the config's own environment is the first. Errors: UserError."""
    sources = {DEFAULT: config.tasks, **config.service.sources}
    own = Offer(config.environment.id, config.environment, config.participants, sources)
    further = {
        name: Offer(name, offer.environment, offer.participants, offer.sources, ("service", "offers", name))
        for name, offer in config.service.offers.items()
    }
    if own.name in further:
        raise UserError(f"service.offers.{own.name}: the config's own environment has this name; choose another")
    return {own.name: own, **further}


def chosen(offers: Mapping[str, Offer], name: str | None) -> Offer:
    """By default the first. Errors: Refused."""
    if name is None:
        return next(iter(offers.values()))
    if name not in offers:
        known = ", ".join(offers)
        raise Refused(
            422, "unknown_environment", f"environment: there is no {name!r} here; known: {known}", "environment"
        )
    return offers[name]
