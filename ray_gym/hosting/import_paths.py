"""Lists the folders from which other processes can import the user's code and `ray_gym`."""

from __future__ import annotations

import os
from pathlib import Path

from ray_gym.installed.place import PACKAGE, is_installed

HERE = PACKAGE.parent
"""Folder that contains the folder `ray_gym`."""


def import_paths() -> list[str]:
    """Returns the import paths for other processes, without duplicates: the current folder, those of PYTHONPATH, and
    the folder of `ray_gym` if it is not installed. They are absolute, since workers have another working directory.

    The folder of a checkout holds more than `ray_gym` (tests, configs, ...), so it comes last, and only where it is
    needed: a user's own packages have these names, too.
    """
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own = [] if is_installed(HERE / "ray_gym") else [str(HERE)]
    return list(dict.fromkeys(str(Path(path).absolute()) for path in [str(Path.cwd()), *inherited, *own]))


def as_variable() -> dict[str, str]:
    """Returns the environment variable PYTHONPATH with the import paths, as a dict, for another process."""
    return {"PYTHONPATH": os.pathsep.join(import_paths())}
