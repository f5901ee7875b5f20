"""Decides which parts of a config may change when a run is resumed: how fast it is played, but not what is played."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from ray_gym.config.file import as_yaml, read_config, read_config_text
from ray_gym.config.sections import RunConfig
from ray_gym.data.tasks import locate
from ray_gym.errors import UserError
from ray_gym.load_object import name_of_today

MAY_CHANGE = (
    "fanout.*",
    "output.roll*",
    "output.durability",
    "limits.*_deadline_s",
    "limits.retries*",
    "limits.max_failed*",
    "log.*",
)
"""Patterns of the keys that may change."""
PLACE = ("run.name", "output.dir", "output.journal_dir")
"""Keys that say where a run is. They are not compared, since `--resume` names the place."""


def config_to_resume(
    kept: RunConfig, run: str, config_path: Path | None = None, overrides: Sequence[str] = ()
) -> RunConfig:
    """Returns the run's own config with the allowed changes.

    kept: the run's own config. run: its location, for messages. The changes come from `overrides` alone, or from a
    whole config at `config_path`. Errors: UserError that lists all forbidden differences, one line for each key.
    """
    if config_path is None:
        refuse_overrides(overrides)
        return read_config_text(as_yaml(kept.model_dump(mode="json")), "run.yaml", overrides)
    given = with_absolute_path(read_config(config_path, overrides), config_path)
    if differences := meaning_diff(kept, given):
        listed = "\n".join(f"  {line}" for line in differences)
        raise UserError(
            f"--resume: {config_path} plays something else than {run} (run -> config):\n{listed}\n"
            f"only fan-out and limits of time may change ({', '.join(MAY_CHANGE)}); start a new run for the rest"
        )
    place = {"dir": kept.output.dir, "journal_dir": kept.output.journal_dir}
    return given.model_copy(update={"run": kept.run, "output": given.output.model_copy(update=place)})


def meaning_diff(old: RunConfig, new: RunConfig, allowed: Sequence[str] = MAY_CHANGE) -> list[str]:
    """Returns the differences between two configs that may not change, as lines of `key: old -> new`."""
    before, after = (_flat(yaml.safe_load(as_yaml(config.as_written()))) for config in (old, new))
    return [
        f"{key}: {_as_text(before, key)} -> {_as_text(after, key)}"
        for key in dict.fromkeys([*before, *after])
        if not may_change(key, allowed)
        and key not in PLACE
        and (key not in before or key not in after or not _is_same(before[key], after[key]))
    ]


def _is_same(old: Any, new: Any) -> bool:
    """Says whether two values are equal. The name that one of our modules had before 0.2 equals its name today."""
    return bool(old == new) or (isinstance(old, str) and name_of_today(old) == new)


def may_change(key: str, allowed: Sequence[str] = MAY_CHANGE) -> bool:
    """Says whether a key matches one of the patterns."""
    return any(fnmatchcase(key, pattern) for pattern in allowed)


def refuse_overrides(overrides: Sequence[str]) -> None:
    """Checks that overrides change only keys that may change. Errors: UserError."""
    for override in overrides:
        if not may_change(override.partition("=")[0]):
            allowed = ", ".join(MAY_CHANGE)
            raise UserError(f"--resume: {override}: a run is resumed as it was; only these may change: {allowed}")


def with_absolute_path(config: RunConfig, config_path: Path) -> RunConfig:
    """Returns the config with an absolute path of the tasks, so that the run can be resumed from any working directory."""
    if config.tasks.path is None:
        return config
    path = str(locate(config.tasks.path, config_path.parent).absolute())
    return config.model_copy(update={"tasks": config.tasks.model_copy(update={"path": path})})


def _flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested mappings by dotted key. Lists and empty mappings are leaves."""
    if not isinstance(node, dict) or (not node and prefix):
        return {prefix: node}
    below = (_flat(value, f"{prefix}.{key}" if prefix else str(key)) for key, value in node.items())
    return {key: value for leaves in below for key, value in leaves.items()}


def _as_text(leaves: dict[str, Any], key: str) -> str:
    if key not in leaves:
        return "(not set)"
    return (
        yaml.safe_dump(leaves[key], default_flow_style=True, allow_unicode=True, width=10**6)
        .removesuffix("...\n")
        .strip()
    )
