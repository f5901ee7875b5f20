"""What a Service actor is made of."""

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


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """By a lock that the kernel drops when this process ends, however it ends. Errors: UserError, OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"service.name: another service is up in {directory}; end that one, or choose another service.name or output.dir"
            ) from None
        yield


NAMESPACE = "ray_gym"


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """Pickled to the actor."""

    config: RunConfig
    folder: Path
    """The config's: relative files of tasks are looked for there first."""
    directory: Path
    """The service's own, on a filesystem that all nodes share."""
    engines: Mapping[str, Engine]
    """Every model of the config, started: whoever has them only connects."""


def service_directory(config: RunConfig) -> Path:
    """Errors: UserError for an object store, and for a relative directory under a submitted job."""
    root = output_root(config)
    if "://" in root:
        raise UserError(f"output.dir: {root} is an object store, and a service needs a folder that all nodes share")
    return Path(root) / config.service.name


def actor_name(service: str) -> str:
    return f"service-{service}"
