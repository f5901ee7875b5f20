"""Makes the figures of a run: numbers by name, and curves over the versions of the weights."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from ray_gym.statistics.collect import Collected
from ray_gym.statistics.describe import Success, describe
from ray_gym.statistics.interval import Interval
from ray_gym.statistics.slices import slices_of

LONGEST = 80
"""Most characters of a part of a name that comes from data."""
_UNFIT = re.compile(r"[^\w .-]")

Numbers = dict[str, float]
"""Finite numbers by name; `/` parts a name. An interval has its ends in `NAME_low` and `NAME_high`."""


@dataclass(frozen=True)
class Figures:
    """Holds what is written of a run."""

    facts: dict[str, str]
    """Facts about the run, such as its name and what counts as a success."""
    totals: Numbers
    by_version: dict[int, Numbers]
    """Numbers of the episodes of each version of the policy's weights, the lowest version first; {} if none is known."""


def figures_of(given: Collected, is_success: Success, facts: dict[str, str]) -> Figures:
    """Returns the figures of a run: those that `ray-gym stats` estimates. `facts`: further facts about it."""
    described = describe(given, is_success)
    attempts = {one.k: one for one in described.attempts}
    kept = {field.name: getattr(described, field.name) for field in fields(described)} | {"attempts": attempts}
    environments = sorted({str(name) for name in given.texts("env_id").tolist()})
    parts = slices_of(given, ["version"], is_success)
    curves = {one.key[0]: dict(_flat(one, "")) for one in parts if isinstance(one.key[0], int)}
    return Figures({**facts, "environments": ", ".join(environments)}, dict(_flat(kept, "")), curves)


def _flat(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Yields the finite numbers in a value, each with its name. Text, lists and what is None have none."""
    if isinstance(value, Interval):
        yield from _flat(value.value, name)
        yield from _flat(value.low, f"{name}_low")
        yield from _flat(value.high, f"{name}_high")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            yield name, float(value)
    elif is_dataclass(value):
        yield from _flat({field.name: getattr(value, field.name) for field in fields(value)}, name)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}/{_part(key)}" if name else _part(key))


def _part(key: object) -> str:
    """Returns a key as a part of a name. Names of tools come from models: nothing of them is a path or markup."""
    return _UNFIT.sub("_", str(key))[:LONGEST].strip(". ") or "_"
