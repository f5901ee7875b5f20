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
from ray_gym.hosting.import_paths import import_from
from ray_gym.load_object import name_of_today

MAY_CHANGE = (
    "fanout.*",
    "output.roll*",
    "output.durability",
    "limits.*_deadline_s",
    "limits.retries*",
    "limits.max_failed*",
    "limits.max_cost",
    "models.*.requests_per_minute",
    "models.*.tokens_per_minute",
    "log.*",
    "tasks.path",
)
"""Patterns (of `fnmatch`) of the dotted keys of a config that may change when a run is resumed. The tasks that a file has
are compared by themselves (`fingerprint`), so that it may lie elsewhere.
"""
PLACE = ("run.name", "output.dir", "output.journal_dir")
"""Dotted keys that say where a run is. They are not compared, since `--resume` names the place."""


def config_to_resume(
    kept: RunConfig, run: str, config_path: Path | None = None, overrides: Sequence[str] = ()
) -> RunConfig:
    """Returns the config with which a run is resumed.

    kept: the config that the run began with. run: location of the run, for messages. config_path: file of a whole new
    config, to which the overrides apply; None applies the overrides (key=value) to `kept`. The run keeps its name and
    folders.

    Errors: UserError for a config that can't be read; for the first override that must not change if `config_path` is
    None; else with one line for each key that must not change and does.
    """
    if config_path is None:
        refuse_overrides(overrides)
        return read_config_text(as_yaml(kept.model_dump(mode="json")), "run.yaml", overrides)
    given = load_config(config_path, overrides)
    if differences := meaning_diff(kept, given):
        listed = "\n".join(f"  {line}" for line in differences)
        raise UserError(
            f"--resume: {config_path} plays something else than {run} (run -> config):\n{listed}\n"
            f"only fan-out, and limits of time, cost and rate may change ({', '.join(MAY_CHANGE)}); start a new run for the rest"
        )
    place = {"dir": kept.output.dir, "journal_dir": kept.output.journal_dir}
    return given.model_copy(update={"run": kept.run, "output": given.output.model_copy(update=place)})


def meaning_diff(old: RunConfig, new: RunConfig, allowed: Sequence[str] = MAY_CHANGE) -> list[str]:
    """Returns a line `key: old -> new` for each key in which two configs differ and must not. Keys that match a pattern
    of `allowed`, and keys in `PLACE`, may differ. A value is "(not set)" if a config lacks the key.
    """
    before, after = (_flat(yaml.safe_load(as_yaml(config.as_written()))) for config in (old, new))
    return [
        f"{key}: {_as_text(before, key)} -> {_as_text(after, key)}"
        for key in dict.fromkeys([*before, *after])
        if not may_change(key, allowed)
        and key not in PLACE
        and (key not in before or key not in after or not _is_same(before[key], after[key]))
    ]


def _is_same(old: Any, new: Any) -> bool:
    """Says whether two values are equal. An old value that names one of our modules as before version 0.2 equals the
    module's name of today.
    """
    return bool(old == new) or (isinstance(old, str) and name_of_today(old) == new)


def may_change(key: str, allowed: Sequence[str] = MAY_CHANGE) -> bool:
    """Says whether a dotted key of a config matches one of the patterns in `allowed`."""
    return any(fnmatchcase(key, pattern) for pattern in allowed)


def refuse_overrides(overrides: Sequence[str]) -> None:
    """Checks that overrides (key=value) change only keys that match `MAY_CHANGE`. Errors: UserError for the first that
    does not.
    """
    for override in overrides:
        if not may_change(override.partition("=")[0]):
            allowed = ", ".join(MAY_CHANGE)
            raise UserError(f"--resume: {override}: a run is resumed as it was; only these may change: {allowed}")


def load_config(config_path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Reads the config of a run that is to be played, applies overrides (key=value), and returns it with an absolute
    `tasks.path`. From now on the modules beside the config's file can be imported. Errors: UserError, as `read_config`,
    and if the file of tasks is missing.
    """
    config = read_config(config_path, overrides)
    import_from(config_path.parent)
    return with_absolute_path(config, config_path)


def with_absolute_path(config: RunConfig, config_path: Path) -> RunConfig:
    """Returns the config with an absolute `tasks.path`, so that the run can be resumed from any working directory; the
    same config if `tasks.path` is not set. A relative path starts in the folder of `config_path` or, if the file isn't
    there, in the working directory. Errors: UserError if the file of tasks is missing.
    """
    if config.tasks.path is None:
        return config
    path = str(locate(config.tasks.path, config_path.parent).absolute())
    return config.model_copy(update={"tasks": config.tasks.model_copy(update={"path": path})})


def _flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested mappings by dotted key. Lists, and empty mappings below the top, are leaves."""
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
