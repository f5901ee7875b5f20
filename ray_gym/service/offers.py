"""Defines the offers of a service: environments by name, each with its participants and the sources of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.agents.hiring import Crew, hire
from ray_gym.config.file import validate
from ray_gym.config.sections import EnvironmentSection, ParticipantSection, RunConfig, TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.models.base import Engine, EngineCheck, Sampling
from ray_gym.models.engine import bases_first, models_on
from ray_gym.openai_api.refused import Refused
from ray_gym.plugins import construct, find_engine, find_environment
from ray_gym.run.plan import cast_of, has_tools, make_environment
from ray_gym.service.api import EnvironmentInfo


def hire_all(config: RunConfig, offers: Mapping[str, Offer], config_path: Path) -> list[Crew]:
    """Makes the programs that play participants, and the sandboxes, of those offers that have some. Errors: UserError for
    an unknown agent or kind of sandbox, or a wrong option.
    """
    crews = []
    for name, offer in offers.items():
        where = str(config_path) if name == config.environment.id else f"{config_path}: service.offers.{name}"
        uses_sandbox = find_environment(offer.environment.id).uses_sandbox
        crews.append(hire(offer.config(config), where, uses_sandbox))
    return [crew for crew in crews if crew is not None]


def make_engines(config: RunConfig, offers: Mapping[str, Offer], config_path: Path) -> dict[str, Engine]:
    """Makes and checks an engine for every model of the config, by the model's name.

    Models that no participant uses are among them, since callers may use any of them. Nothing is started. The tasks of
    all sources are checked, too. Errors: UserError for a mistake in the config, an offer or a task.
    """
    file = str(config_path)
    samplings: dict[str, dict[str, Sampling]] = {name: {} for name in config.models}
    using_tools: set[str] = set()
    for name, offer in offers.items():
        where = file if name == config.environment.id else f"{file}: service.offers.{name}"
        played = offer.config(config)
        environment, participants = cast_of(played, where)
        for participant in participants.values():
            samplings[participant.model][f"{name}.{participant.name}"] = participant.sampling
            if has_tools(environment, participant):
                using_tools.add(participant.model)
        for source, section in offer.sources.items():
            try:
                read_tasks(section, environment, config.run.seed, config_path.parent)
            except UserError as error:
                raise UserError(f"{where}: source {source}: {error}") from None

    def make(name: str) -> Engine:
        model = config.models[name]
        at = f"{file}: models.{name}.engine"
        engine_class = find_engine(model.engine, at)
        engine: Engine = construct(
            engine_class, validate(engine_class.Options, model.options, file, ("models", name)), at
        )
        return engine

    engines = bases_first(config.models, config.models, make)
    for name, engine in engines.items():
        on = models_on(name, engines)
        asked = {asking: sampling for model in on for asking, sampling in samplings[model].items()}
        engine.check(EngineCheck(name, asked, not on.isdisjoint(using_tools), engines=engines))
    return engines


DEFAULT = "default"
"""Name of the source whose tasks are played if a request names no tasks."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer is an environment that callers may use, with its participants and the sources of its tasks."""

    name: str
    """Name by which callers ask for the environment."""
    environment: EnvironmentSection
    participants: Mapping[str, ParticipantSection]
    """Sections of the participants by name, which a request may change."""
    sources: Mapping[str, TasksSection]
    """Sections of the tasks that a request may ask for, by name."""

    place: tuple[str, ...] = ()
    """Keys that lead to the offer in the service's config; empty for the config's own environment."""

    def config(self, config: RunConfig, **changes: Any) -> RunConfig:
        """Returns the service's config with the environment and participants of this offer.

        `changes`: sections by name, which replace those of the config and of the offer.
        """
        moved = {(*self.place, name): (name,) for name in ("environment", "participants")}
        own = {"environment": self.environment, "participants": dict(self.participants)}
        return config.with_sections(moved, **{**own, **changes})

    def info(self, config: RunConfig) -> EnvironmentInfo:
        """Describes the environment for callers. `config`: the service's. Errors: UserError for options that the
        environment doesn't take.
        """
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
    """Returns the offers of a config by name. The config's own environment is the first.

    Errors: UserError if two offers have the same name.
    """
    sources = {DEFAULT: config.tasks, **config.service.sources}
    own = Offer(config.environment.id, config.environment, config.participants, sources)
    further = {
        name: Offer(name, offer.environment, offer.participants, offer.sources, ("service", "offers", name))
        for name, offer in config.service.offers.items()
    }
    if own.name in further:
        raise UserError(f"service.offers.{own.name}: the config's own environment has this name; choose another")
    return {own.name: own, **further}


def choose_offer(offers: Mapping[str, Offer], name: str | None) -> Offer:
    """Returns the offer of a name, or the first offer if the name is None.

    Errors: Refused (422) if no offer has this name.
    """
    if name is None:
        return next(iter(offers.values()))
    if name not in offers:
        known = ", ".join(offers)
        raise Refused(
            422, "unknown_environment", f"environment: there is no {name!r} here; known: {known}", "environment"
        )
    return offers[name]
