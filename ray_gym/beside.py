"""Checks that a module which lies beside a config is the one that is imported: another folder, that of the command say,
may have one of the same name, and goes first.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from ray_gym.errors import UserError

PROJECT = "pyproject.toml"
"""File in which a project declares its entry points."""
VARIABLE = "RAY_GYM_BESIDE"
"""Environment variable, for this process and for those that are started from it: the folder in which workers look for
modules first, and the folders of the configs that were read.
"""


def expect_beside(folder: Path) -> None:
    """Makes `refuse_hidden` check the modules of a config's folder, as long as the folder is in `sys.path`, here and in
    processes that get the environment variable.
    """
    folders = dict.fromkeys([*map(str, config_folders()), str(folder)])
    os.environ[VARIABLE] = os.pathsep.join([str(Path.cwd()), *folders])


def config_folders() -> list[Path]:
    """Returns the folders of the configs that were read."""
    return [Path(path) for path in os.environ.get(VARIABLE, "").split(os.pathsep)[1:]]


def config_projects() -> list[Path]:
    """Returns the pyproject.toml beside each of the configs that were read, where there is one that is not the working
    directory's.
    """
    here = Path.cwd()
    return [folder / PROJECT for folder in config_folders() if folder != here and (folder / PROJECT).is_file()]


def refuse_hidden(module: str, where: str, *, with_imports: bool = True) -> None:
    """Checks that a module, and all that it imports unless `with_imports` is False, is taken from beside the config if
    there is one of that name. No module is run for it. `where`: the config's field that names the module. Errors:
    UserError, which names both files.
    """
    for folder in [path for path in config_folders() if str(path) in sys.path]:
        waiting, seen = [module], set[str]()
        while waiting:
            name = waiting.pop()
            own = _file_in(folder, name)
            if name not in seen and own is not None:
                _refuse_other(own, folder, name, where)
                waiting += _imported(own, name) if with_imports else ()
            seen.add(name)
            waiting += [parent for parent in [name.rpartition(".")[0]] if parent and parent not in seen]


def _refuse_other(own: Path, folder: Path, name: str, where: str) -> None:
    """Checks that a module of a folder is imported from its file, or from a copy of it. Errors: UserError."""
    spec = _spec(name)
    found = Path(spec.origin or "") if spec is not None else own
    if not found.is_file() or own.samefile(found) or own.read_bytes() == found.read_bytes():
        return
    remedy = "rename it" if folder == Path.cwd() else f"start from the folder {folder}, or rename one of them"
    raise UserError(
        f"{where}: {own}, which lies beside the config, is hidden by another module of that name, {found}: {remedy}"
    )


def _file_in(folder: Path, name: str) -> Path | None:
    """Returns the file of a module in a folder; None without one, and for modules of Python and ray_gym, whose names a
    folder may not have anyway.
    """
    if name.partition(".")[0] in {*sys.stdlib_module_names, "ray_gym"}:
        return None
    place = folder.joinpath(*name.split("."))
    files = (place / "__init__.py", Path(f"{place}.py"))
    return next((file for file in files if file.is_file()), None)


def _spec(name: str) -> ModuleSpec | None:
    """Finds a module as it is loaded, or as Ray's workers find it, where the command's folder goes first; None without
    one.
    """
    if (loaded := sys.modules.get(name)) is not None:
        return getattr(loaded, "__spec__", None)
    parent = name.rpartition(".")[0]
    if not parent:
        here = PathFinder.find_spec(name, os.environ[VARIABLE].split(os.pathsep)[:1])
        return here if here is not None and here.origin else importlib.util.find_spec(name)
    above = _spec(parent)
    within = above.submodule_search_locations if above is not None else None
    return PathFinder.find_spec(name, within) if within else None


def _imported(file: Path, name: str) -> Iterator[str]:
    """Yields the dotted names that a module's text imports at any place, with those that may be no modules."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    with suppress(SyntaxError, ValueError):  # which importing it tells
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                with suppress(ImportError):  # a relative import that leads out of its package
                    source = importlib.util.resolve_name("." * node.level + (node.module or ""), package or None)
                    yield from (source, *(f"{source}.{alias.name}" for alias in node.names))
