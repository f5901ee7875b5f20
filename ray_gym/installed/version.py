"""Finds the version of the code that runs, which is not always the one that is installed."""

from __future__ import annotations

import tomllib
from importlib import metadata

from ray_gym.installed.place import PACKAGE, is_installed

UNKNOWN = "0+unknown"


def version() -> str:
    """Returns the installed version; that of a checkout which is not installed ends with `+checkout`."""
    return metadata.version("ray-gym") if is_installed() else _of_checkout()


def describe_version() -> str:
    """Returns the version as `--version` prints it: of a checkout that is not installed, with the folder that it lies in."""
    where = "" if is_installed() else f" (not installed: {PACKAGE.parent})"
    return f"{version()}{where}"


def _of_checkout() -> str:
    """Reads the project file beside the package, which a submitted working directory has, too."""
    try:
        project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    except (OSError, ValueError, KeyError):
        return UNKNOWN
    return f"{project['version']}+checkout" if project.get("name") == "ray-gym" else UNKNOWN
