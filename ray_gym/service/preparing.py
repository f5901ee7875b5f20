"""What `ray-gym serve` checks before anything starts: what is offered, its tasks, and every model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ray_gym.config import RunConfig
from ray_gym.config_file import validate
from ray_gym.errors import UserError
from ray_gym.models.base import Engine, EngineCheck, Sampling
from ray_gym.plugins import find_engine
from ray_gym.run.plan import has_tools, make_environment, participants_of
from ray_gym.service.offers import Offer
from ray_gym.tasks import read_tasks


def make_engines(config: RunConfig, offers: Mapping[str, Offer], config_path: Path) -> dict[str, Engine]:
    """Every model of the config, also one that nobody plays with yet: a caller may ask for it. Errors: UserError."""
    file = str(config_path)
    samplings: dict[str, dict[str, Sampling]] = {name: {} for name in config.models}
    using_tools: set[str] = set()
    for name, offer in offers.items():
        where = file if name == config.environment.id else f"{file}: service.offers.{name}"
        played = offer.config(config)
        environment = make_environment(played, where)
        for participant in participants_of(played, environment, where).values():
            samplings[participant.model][f"{name}.{participant.name}"] = participant.sampling
            if has_tools(environment, participant):
                using_tools.add(participant.model)
        for source, section in offer.sources.items():
            try:
                read_tasks(section, environment, config.run.seed, config_path.parent)
            except UserError as error:
                raise UserError(f"{where}: source {source}: {error}") from None
    engines: dict[str, Engine] = {}
    for name, model in config.models.items():
        engine_class = find_engine(model.engine, f"{file}: models.{name}.engine")
        engine: Engine = engine_class(validate(engine_class.Options, model.options, file, ("models", name)))
        engine.check(EngineCheck(name, samplings[name], name in using_tools))
        engines[name] = engine
    return engines
