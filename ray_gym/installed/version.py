"""Finds the version of the code that runs, which may differ from the one that is installed."""

from __future__ import annotations

import tomllib
from importlib import metadata

from ray_gym.installed.place import PACKAGE, is_installed

UNKNOWN = "0+unknown"


def version() -> str:
    """Returns the version of the code that runs. That of a checkout which is not installed ends with `+checkout`; it is
    `UNKNOWN` if no project file tells it.
    """
    return metadata.version("ray-gym") if is_installed() else _of_checkout()


def describe_version() -> str:
    """Returns the version as `--version` prints it: for a checkout that is not installed, with its folder."""
    where = "" if is_installed() else f" (not installed: {PACKAGE.parent})"
    return f"{version()}{where}"


def _of_checkout() -> str:
    """Returns the version in the project file beside the package, with `+checkout`; `UNKNOWN` if there is no project
    file of ray-gym. A submitted working directory has that file, too.
    """
    try:
        project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return UNKNOWN
    return f"{project['version']}+checkout" if project.get("name") == "ray-gym" else UNKNOWN
