"""What other processes need on their path to import what this one can."""

from __future__ import annotations

import json
import os
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
"""The folder that `ray_gym` lies in."""


def import_paths() -> list[str]:
    """Absolute folders, for workers have another working directory: this one, PYTHONPATH, and that of `ray_gym` if it is not installed.

    The folder of a checkout holds more than `ray_gym` (tests, configs, ...), so it comes last, and only where it is needed: a user's own
    packages have these names, too.
    """
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own = [] if _is_installed() else [str(HERE)]
    return list(dict.fromkeys(str(Path(path).absolute()) for path in [str(Path.cwd()), *inherited, *own]))


def as_variable() -> dict[str, str]:
    """The same, for the environment of a process."""
    return {"PYTHONPATH": os.pathsep.join(import_paths())}


def _is_installed() -> bool:
    """Whether a process with the same interpreter finds this very `ray_gym` by itself: a wheel's, or an editable one."""
    try:
        installed = Distribution.from_name("ray-gym")
    except PackageNotFoundError:
        return False
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return bool(origin["url"] == HERE.as_uri())
    return Path(str(installed.locate_file("ray_gym"))).resolve() == HERE / "ray_gym"
