"""Lists the environments of the repository, each with the options that its own config gives it."""

from __future__ import annotations

from typing import Any

import yaml
from conftest import REPOSITORY

from ray_gym.plugins import ENVIRONMENT, names

NEEDS_A_SERVER = {"mcp", "nemo_gym"}
"""Played in their own tests."""
NAMES = [name for name in names(ENVIRONMENT) if name not in NEEDS_A_SERVER]
NEEDS_OPTIONS = {"aviary", "gymnasium", "reasoning_gym"}
"""Environments that need an option to be complete. The others are checked with their defaults."""


def config_of(name: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((REPOSITORY / "configs" / f"{name}.yaml").read_text())
    return config


def options_of(name: str) -> dict[str, Any]:
    if name == "aviary":  # the library's own example has a tool that draws random numbers, which nobody can seed
        return {"environment": "tests.envs.aviary_games:Safe", "seed_argument": "seed"}
    if name not in NEEDS_OPTIONS:
        return {}
    return {key: value for key, value in config_of(name)["environment"].items() if key != "id"}
