"""Lists the folders from which other processes can import the user's code and `ray_gym`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, metadata, packages_distributions, requires
from pathlib import Path

from ray_gym.beside import VARIABLE, config_projects, expect_beside
from ray_gym.errors import UserError
from ray_gym.installed.configs import FOLDER
from ray_gym.installed.first_folder import PYTHONS, hiding
from ray_gym.installed.place import PACKAGE, is_installed
from ray_gym.paths import absolute_path

PROJECT = "ray-gym"
"""Name under which the package is installed."""
_REQUIREMENT = re.compile(r"(?P<package>[A-Za-z0-9._-]+)\s*(?:\[(?P<extras>[^\]]*)\])?")
_OF_EXTRA = re.compile(r"""extra == ['"]([^'"]+)""")
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
    return list(dict.fromkeys(str(absolute_path(Path(path))) for path in [str(Path.cwd()), *inherited, *own]))


def import_from(folder: Path) -> None:
    """Lets this process, and those that are started from it, import modules of a folder (of a config, say), after all
    others. A module there that one of another folder hides is refused when it is imported. A folder that has only
    configs of ray_gym's own is left out. Errors: UserError for a folder with a module that hides another.
    """
    folder = absolute_path(folder)
    path = str(folder)
    if folder.is_relative_to(FOLDER):
        return
    expect_beside(folder)
    if path in sys.path:
        return
    refuse_hidden_modules(folder, "move the config into another folder")
    sys.path.append(path)
    inherited = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{inherited}{os.pathsep}{path}" if inherited else path


def hidden_modules(folder: Path) -> list[Path]:
    """Returns the modules and packages in a folder that would hide those with the same names of Python's library, of
    ray_gym or of what it is built on.
    """
    found = [*folder.glob("*.py"), *(init.parent for init in folder.glob("*/__init__.py"))]
    return sorted(path for path in found if _owner(path))


def _owner(path: Path) -> str:
    """Returns which module a file or folder of the user's would hide; "" if none."""
    if path.stem in PYTHONS:
        return f"Python's own module {path.stem}"
    if path.resolve() == PACKAGE.resolve():
        return ""
    is_ours = path.stem == PACKAGE.name or (_is_installed(path.stem) and path.stem in _built_on())
    return f"the module {path.stem}, which ray_gym needs," if is_ours else ""


def _is_installed(name: str) -> bool:
    """Says whether a folder of installed packages has a module of this name."""
    folders = [folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")]
    return PathFinder.find_spec(name, folders) is not None


@cache
def _built_on() -> frozenset[str]:
    """Returns the names of the modules that ray_gym needs and that come from other packages, which need others. Of its
    extras, all count that a user may have installed.
    """
    asked: set[tuple[str, str]] = set()
    waiting = {(PROJECT, extra) for extra in ("", *_extras())}
    while waiting:
        asked |= waiting
        waiting = {needed for each in waiting for needed in _needed_by(*each)} - asked
    packages = {package for package, _ in asked}
    modules = packages_distributions().items()
    return frozenset(module for module, owners in modules if packages.intersection(map(_normal, owners)))


def _extras() -> list[str]:
    """Returns the names of ray_gym's extras, without the one for its own developers."""
    with suppress(PackageNotFoundError):
        return [extra for extra in metadata(PROJECT).get_all("Provides-Extra") or () if extra != "dev"]
    return []


def _needed_by(package: str, extra: str) -> Iterator[tuple[str, str]]:
    """Yields the packages that a package needs for one of its extras ("": for none), each as often as extras of it are
    asked for, with one of them: ray[serve] is ("ray", "") and ("ray", "serve").
    """
    with suppress(PackageNotFoundError):
        for line in requires(package) or ():
            if extra in (list(map(_normal, _OF_EXTRA.findall(line))) or [""]) and (found := _REQUIREMENT.match(line)):
                yield from ((_normal(found["package"]), _normal(name)) for name in (found["extras"] or "").split(","))
                yield _normal(found["package"]), ""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def refuse_hidden_modules(folder: Path, remedy: str = "start from another folder") -> None:
    """Checks that no module in a folder hides one of Python's library, of ray_gym or of what it is built on: Ray's
    processes could not even start. `remedy`: what helps besides renaming it. Errors: UserError.
    """
    for path in hidden_modules(folder):
        raise UserError(hiding(str(path), _owner(path), remedy))


def as_variables() -> dict[str, str]:
    """Returns the environment variables for another process: PYTHONPATH with the import paths, and the folders of
    configs.
    """
    return {"PYTHONPATH": os.pathsep.join(import_paths()), **beside_configs()}


def beside_configs() -> dict[str, str]:
    """Returns the environment variable by which other processes refuse modules that are hidden from beside a config,
    and find a project beside one; {} if there is no such project, and no import path has a module of a name that one
    before it has, too.
    """
    paths = import_paths()
    if VARIABLE not in os.environ:
        return {}
    known = config_projects() or any(_are_names_shared(Path(path), paths[:at]) for at, path in enumerate(paths))
    return {VARIABLE: os.environ[VARIABLE]} if known else {}


def _are_names_shared(folder: Path, before: list[str]) -> bool:
    """Says whether a folder has a module or package of a name that one of other folders has."""
    with suppress(OSError):
        for place in folder.iterdir():
            name = place.stem if place.suffix == ".py" else place.name
            is_there = name.isidentifier() and PathFinder.find_spec(name, before) is not None
            if is_there and (place.suffix == ".py" or next(place.rglob("*.py"), None) is not None):
                return True
    return False
