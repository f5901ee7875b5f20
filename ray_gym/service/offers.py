"""What a service has to play: environments with their participants and tasks, and the models, all checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.config import RunConfig, TasksSection
from ray_gym.config_file import validate
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.models.base import Engine, EngineCheck
from ray_gym.participant import Participant
from ray_gym.plugins import find_engine
from ray_gym.run.plan import has_tools, make_environment, make_participants
from ray_gym.tasks import read_tasks

DEFAULT_SOURCE = "default"


@dataclass(frozen=True, slots=True)
class Offer:
    """`config` is the service's with this environment and these participants in the place of its own."""

    config: RunConfig
    environment: Environment[Any, Any]
    participants: dict[str, Participant]
    sources: dict[str, TasksSection]


def make_offers(config: RunConfig, config_path: Path) -> dict[str, Offer]:
    """By the name that callers give; the config's own comes first. Errors: UserError."""
    file, own = str(config_path), config.environment.id
    offers = {own: _offer(config, {DEFAULT_SOURCE: config.tasks, **config.service.sources}, file, config_path.parent)}
    for name, section in config.service.offers.items():
        where = f"{file}: service.offers.{name}"
        if name in offers:
            raise UserError(f"{where}: the config's own environment has this name; choose another")
        update = {"environment": section.environment, "participants": section.participants}
        offers[name] = _offer(config.model_copy(update=update), section.sources, where, config_path.parent)
    return offers


def make_engines(config: RunConfig, offers: Mapping[str, Offer], config_path: Path) -> dict[str, Engine]:
    """Every model of the config, also one that nobody plays with yet: a caller may ask for it. Errors: UserError."""
    file = str(config_path)
    engines: dict[str, Engine] = {}
    for name, section in config.models.items():
        engine_class = find_engine(section.engine, f"{file}: models.{name}.engine")
        engine: Engine = engine_class(validate(engine_class.Options, section.options, file, ("models", name)))
        users = [
            (key, offer, p) for key, offer in offers.items() for p in offer.participants.values() if p.model == name
        ]
        samplings = {f"{key}.{participant.name}": participant.sampling for key, _, participant in users}
        engine.check(EngineCheck(name, samplings, any(has_tools(offer.environment, p) for _, offer, p in users)))
        engines[name] = engine
    return engines


def _offer(config: RunConfig, sources: Mapping[str, TasksSection], where: str, folder: Path) -> Offer:
    environment = make_environment(config, where)
    participants = make_participants(config, environment, where)
    for name, section in sources.items():
        try:
            read_tasks(section, environment, config.run.seed, folder)
        except UserError as error:
            raise UserError(f"{where}: source {name}: {error}") from None
    return Offer(config, environment, participants, dict(sources))
