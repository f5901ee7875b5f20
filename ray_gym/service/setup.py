"""Defines the setup of a Service actor: its config, its directory and the engines."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.models.base import Engine
from ray_gym.run.directory.directory import output_root

LOCK = ".lock"
"""Name of the file in a service's directory that is locked while the service is up."""


@contextmanager
def claim_directory(directory: Path) -> Iterator[None]:
    """Makes a service's directory, and claims it for the block by a lock.

    The kernel releases the lock when this process ends. Errors: UserError if another service has claimed the directory;
    OSError if it can't be made or locked.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"service.name: another service is up in {directory}; end that one, or choose another service.name or output.dir"
            ) from None
        yield


NAMESPACE = "ray_gym"
"""Ray namespace of the Service actors."""


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """Holds everything that a Service actor is made from. It is pickled."""

    config: RunConfig
    """Config of the service, as the gateway has checked it."""
    folder: Path
    """Folder of the config file. Relative paths of task files are looked for there first."""
    directory: Path
    """Directory of the service, on a filesystem that all nodes share."""
    engines: Mapping[str, Engine]
    """Engines of all models of the config, which run already: the actor only connects to them."""


def service_directory(config: RunConfig) -> Path:
    """Returns the service's directory.

    Errors: UserError for an object store, and for a relative path in a submitted job.
    """
    root = output_root(config)
    if "://" in root:
        raise UserError(f"output.dir: {root} is an object store, and a service needs a folder that all nodes share")
    return Path(root) / config.service.name


def actor_name(service: str) -> str:
    """Returns the name of the Service actor of a service."""
    return f"service-{service}"
