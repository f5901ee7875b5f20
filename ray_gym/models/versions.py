"""Defines the versions of the weights of several models, each of which counts its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

from ray_gym.errors import UserError


@dataclass(frozen=True, slots=True)
class Versions:
    """Holds the version of the weights of each model."""

    others: int = 0
    """Version of the models that are not in `of`."""
    of: Mapping[str, int] = field(default_factory=dict)
    """Version of each model, by its name in the config."""

    def __getitem__(self, model: str) -> int:
        return self.of.get(model, self.others)

    @property
    def lowest(self) -> int:
        """Returns the lowest version of the models in `of`; `others` without any."""
        return min(self.of.values(), default=self.others)

    def before(self, count: int) -> Versions:
        """Returns the versions that are older by `count`."""
        return Versions(self.others - count, {model: version - count for model, version in self.of.items()})

    def merge(self, newer: Versions | Mapping[str, int]) -> Versions:
        """Returns the higher version of each model. Models that a mapping does not have stay as they are."""
        if not isinstance(newer, Versions):
            newer = Versions(0, newer)
        models = [*self.of, *(model for model in newer.of if model not in self.of)]
        others = max(self.others, newer.others)
        return Versions(others, {model: max(self[model], newer[model]) for model in models})


def read_versions(given: Any, models: Collection[str]) -> dict[str, int]:
    """Returns the version of each model that a trainer names: all `models` for a whole number (also one of NumPy), those
    of a mapping else. Errors: UserError for a version that is no whole number from 0 on, and for another model.
    """
    of_models = given if isinstance(given, Mapping) else dict.fromkeys(models, given)
    for model in of_models:
        if model not in models:
            raise UserError(f"models.{model}: no such model is trained; {', '.join(models)}")
    return {model: _whole(version) for model, version in of_models.items()}


def _whole(version: Any) -> int:
    try:
        found = -1 if isinstance(version, bool) else index(version)
    except TypeError:
        found = -1
    if found < 0:
        raise UserError(f"version: {version!r}, but it is a whole number from 0 on")
    return found
