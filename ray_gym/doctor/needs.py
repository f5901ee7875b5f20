"""Reads the needs of a config that are checked on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ray_gym.config.file import read_config, validate
from ray_gym.config.sections import RunConfig
from ray_gym.hosting.import_paths import import_from
from ray_gym.models.engine import OnNodes
from ray_gym.models.placement import Replicas
from ray_gym.plugins import construct, find_engine, find_environment
from ray_gym.run.directory.directory import check_places
from ray_gym.run.directory.location import absolute, is_uri
from ray_gym.service.offers import offers_of


@dataclass(frozen=True, slots=True)
class ClusterNeeds:
    """Holds the needs of a config that are checked: packages, engines, workers, folders and a port."""

    packages: tuple[str, ...] = ("ray_gym",)
    """Packages and modules whose code has to be the same on all nodes."""
    engines: Mapping[str, OnNodes] = field(default_factory=dict)
    """Engines that put replicas on nodes, by the model's name."""
    workers: int = 0
    cpus_per_worker: float = 0
    folders: Mapping[str, Path] = field(default_factory=dict)
    """Folders that all nodes share, by the key of the config."""
    object_stores: tuple[str, ...] = ()
    """URIs of object stores, which are not checked."""
    address: tuple[str, int] | None = None
    """Host and port that the service would listen at; None without a config."""

    def replicas_to_place(self) -> dict[str, Sequence[Replicas]]:
        """Returns the replicas to place, by the model's name. Models without replicas on the cluster are left out."""
        found = {name: engine.placed() for name, engine in self.engines.items()}
        return {name: replicas for name, replicas in found.items() if replicas}


def needs_of(config_path: Path, overrides: Sequence[str]) -> ClusterNeeds:
    """Reads a config and returns its needs. `overrides`: KEY=VALUE. Errors: UserError for a config that can't be read
    or is wrong, that names an unknown engine or environment, or that has relative folders of output in a submitted job.
    """
    config = read_config(config_path, overrides)
    import_from(config_path.parent)
    check_places(config.output)
    file = str(config_path)
    engines = {}
    for name, model in config.models.items():
        at = f"{file}: models.{name}.engine"
        engine_class = find_engine(model.engine, at)
        engines[name] = construct(
            engine_class, validate(engine_class.Options, model.options, file, ("models", name)), at
        )
    environments = [find_environment(offer.environment.id) for offer in offers_of(config).values()]
    modules = [each.__module__.rpartition(".")[0] or each.__module__ for each in environments]
    tops = [type(engine).__module__.partition(".")[0] for engine in engines.values()]
    others = [name for name in (*tops, *modules) if name.partition(".")[0] != "ray_gym"]
    places = _places(config)
    return ClusterNeeds(
        packages=tuple(dict.fromkeys(["ray_gym", *others])),
        engines={name: engine for name, engine in engines.items() if isinstance(engine, OnNodes)},
        workers=config.fanout.workers,
        cpus_per_worker=config.fanout.cpus_per_worker,
        folders={key: Path(absolute(place)) for key, place in places.items() if not is_uri(place)},
        object_stores=tuple(place for place in places.values() if is_uri(place)),
        address=(config.service.host, config.service.port),
    )


def _places(config: RunConfig) -> dict[str, str]:
    """Returns the places of output to check, by their keys in the config. Journals are in the run's own directory,
    unless the config has another one for them.
    """
    places = {"output.dir": config.output.dir}
    if config.output.journal_dir is not None and config.output.durability != "off":
        places["output.journal_dir"] = config.output.journal_dir
    return places
