"""Finds the values of secrets that a run's config names, so that no export has them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ray_gym.config.interpolations import PLACES, SHORTEST_MASKED, names_in
from ray_gym.errors import describe
from ray_gym.printable import without_scheme
from ray_gym.run.directory.directory import CONFIG
from ray_gym.run.directory.reading import Run

ALWAYS = ("RAY_GYM_TOKEN",)
"""Environment variables that are secret whatever the config says."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Holds the secrets of a run that can be searched for here."""

    values: tuple[str, ...]
    """Values of the environment variables that the config names, longest first."""
    unset: tuple[str, ...]
    """Names of those that are not set here, so that nothing knows their values."""
    unread: str = ""
    """Reason for which the config can't be read, so that nobody knows what it names; "" if it was read."""


def secrets_of(run: Run) -> Secrets:
    """Returns the secrets that the config of a run names: environment variables in `${oc.env:...}`, and those that keys
    like `api_key_env` and `header_env` name. Of a run without a readable config none but `ALWAYS` are known. Errors: OSError.
    """
    config, unread = _read(run)
    names = {*ALWAYS, *(named := set(_names(config)))}
    found = {name: os.environ.get(name, "").strip() for name in names}
    spelled = {one for value in found.values() for one in (value, without_scheme(value))}
    values = {value for value in spelled if len(value) >= SHORTEST_MASKED}
    unset = sorted(name for name in named if name not in os.environ)
    return Secrets(tuple(sorted(values, key=lambda value: (-len(value), value))), tuple(unset), unread)


def _read(run: Run) -> tuple[Any, str]:
    """Returns the config, and the reason for which it can't be read."""
    if not run.storage.exists(CONFIG):
        return None, "it is not there"
    try:
        return yaml.safe_load(run.storage.read(CONFIG)), ""
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return None, describe(error).partition("\n")[0]


def _names(node: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields the names of environment variables in a config."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if str(key).endswith("_env"):
                yield from map(str, value.values() if isinstance(value, Mapping) else [value] if value else [])
            else:
                yield from _names(value, (*path, str(key)))
    elif isinstance(node, list):
        for item in node:
            yield from _names(item, path)
    elif isinstance(node, str) and path not in PLACES:
        yield from names_in(node)
