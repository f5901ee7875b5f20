"""Lists the folders from which other processes can import the user's code and `ray_gym`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ray_gym.errors import UserError
from ray_gym.installed.configs import FOLDER
from ray_gym.installed.place import PACKAGE, is_installed

UNUSED = frozenset({"antigravity", "idlelib", "lib2to3", "test", "this", "turtle", "turtledemo"})
"""Modules of Python's library that nothing imports. Many projects have a folder `test`."""
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


def import_from(folder: Path) -> None:
    """Lets this process, and those that are started from it, import modules of a folder (of a config, say), after all
    others. A folder that has only configs of ray_gym's own is left out.
    """
    path = str(folder.absolute())
    if path in sys.path or folder.absolute().is_relative_to(FOLDER):
        return
    sys.path.append(path)
    inherited = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{inherited}{os.pathsep}{path}" if inherited else path


def hidden_modules(folder: Path) -> list[Path]:
    """Returns the modules and packages in a folder that would hide those of Python's library with the same names."""
    found = [*folder.glob("*.py"), *(init.parent for init in folder.glob("*/__init__.py"))]
    return sorted(path for path in found if path.stem in sys.stdlib_module_names - UNUSED)


def refuse_hidden_modules(folder: Path) -> None:
    """Checks that no module in a folder hides one of Python's library: Ray's processes could not even start. Errors:
    UserError.
    """
    for path in hidden_modules(folder):
        raise UserError(
            f"{path}: it hides Python's own module {path.stem} from Ray's processes, which import from this folder: "
            "rename it, or start from another folder"
        )


def as_variable() -> dict[str, str]:
    """Returns the environment variable PYTHONPATH with the import paths, as a dict, for another process."""
    return {"PYTHONPATH": os.pathsep.join(import_paths())}
