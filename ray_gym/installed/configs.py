"""Finds the configs that come with ray_gym by their names: `tic_tac_toe`, `pairs/vllm_and_vllm`."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from ray_gym.errors import UserError
from ray_gym.installed.place import PACKAGE
from ray_gym.installed.version import version

FOLDER = PACKAGE / "configs"
SUFFIX = ".yaml"
LISTED = "`ray-gym configs` lists those that come with ray_gym"


@dataclass(frozen=True, slots=True)
class ReadyConfig:
    """Holds a config that comes with ray_gym, and can be named where a command takes a config."""

    name: str
    path: Path
    comment: str
    """Comment that the file begins with, without the signs `#`."""

    @property
    def summary(self) -> str:
        """Returns the first sentence of the config's comment."""
        text = " ".join(self.comment.split())
        return re.split(r"(?<=[.?!]) ", text, maxsplit=1)[0]

    def copy(self) -> str:
        """Returns the config's text for a file elsewhere: a relative path of its tasks is made absolute, and a first
        line names the config and ray_gym's version.
        """
        text = self.path.read_text("utf-8")
        given = yaml.safe_load(text)["tasks"].get("path")
        if given is not None:
            text = text.replace(given, json.dumps(str((self.path.parent / given).resolve())))
        return f"# A copy of the config {self.name} of ray_gym {version()}.\n{text}"


def ready_configs() -> list[ReadyConfig]:
    """Returns all configs that come with ray_gym, sorted by name; those in subfolders come after the others."""
    paths = [*sorted(FOLDER.glob(f"*{SUFFIX}")), *sorted(FOLDER.glob(f"*/*{SUFFIX}"))]
    return [ReadyConfig(_name(path), path, _comment(path.read_text("utf-8"))) for path in paths]


def find_config(given: Path) -> Path:
    """Returns the path of a config: `given` if that is a file, else the config of this name that comes with ray_gym. A
    folder, and a missing path with the suffix .yaml or .yml, are returned as they are; reading them fails.

    Errors: UserError for a missing path without such a suffix (it names the file that has one), and for one with it that
    probably means a config's name (`configs/NAME.yaml`).
    """
    if given.exists() and not given.is_dir():  # a pipe, too
        return given
    known = {_name(path): path for path in FOLDER.rglob(f"*{SUFFIX}")}
    name = given.as_posix()
    if name in known:
        return known[name]
    if given.exists():
        return given
    beside = [other for suffix in (".yaml", ".yml") if (other := given.with_name(f"{given.name}{suffix}")).is_file()]
    if beside:
        raise UserError(f"{given}: there is no such config file; did you mean {beside[0]}?")
    close = difflib.get_close_matches(_likely(given), known, n=1)
    if given.suffix not in (".yaml", ".yml"):
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UserError(f"{given}: there is no such config file, and no config of this name; {hint}{LISTED}")
    if close and close[0] == _likely(given):
        raise UserError(f"{given}: there is no such config file; did you mean the config {close[0]!r}? {LISTED}")
    return given


def _name(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def _likely(given: Path) -> str:
    """Returns the config's name that a path `configs/NAME.yaml` or `NAME.yml` probably means."""
    parts = given.with_suffix("").parts
    return "/".join(parts[1:] if parts[0] == FOLDER.name else parts)


def _comment(text: str) -> str:
    """Returns the comment that a file begins with, without the signs `#`, up to the first line that is indented like a
    command.
    """
    lines = []
    for line in text.splitlines():
        if not line.startswith("# ") or line.startswith("#   "):
            break
        lines.append(line.removeprefix("# "))
    return "\n".join(lines)
