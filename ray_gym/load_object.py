"""Loads the object that package.module:name stands for."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
from contextlib import suppress
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from ray_gym.beside import refuse_hidden
from ray_gym.deprecation import warn_renamed_in
from ray_gym.errors import UserError, place_of, placed
from ray_gym.paths import absolute_path

FORMER_PACKAGES = ("envs", "deployments")
"""Top-level packages of before 0.2, which lie in `ray_gym` now. A user's own package of such a name goes first."""


def load_module(name: str, where: str) -> ModuleType:
    """Imports a module of which the name alone is known, and returns it. `where`: the config's field that names it.

    A name under `FORMER_PACKAGES` that is not found is looked up in `ray_gym`, with a FutureWarning. Errors: UserError
    if another module hides it from beside the config; ImportError; exceptions of the module's own code.
    """
    refuse_hidden(name, where)
    return _import(name, where)


def _import(name: str, where: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        is_missing = error.name is not None and f"{name}.".startswith(f"{error.name}.")
        if not is_missing or name.partition(".")[0] not in FORMER_PACKAGES:
            raise
        renamed = name_of_today(name)
        try:
            module = importlib.import_module(renamed)
        except ModuleNotFoundError:
            raise error from None
    warn_renamed_in(where, name, renamed)
    return module


def name_of_today(name: str) -> str:
    """Returns the name that a module of a former package has now; other names stay as they are."""
    return f"ray_gym.{name}" if name.partition(".")[0] in FORMER_PACKAGES else name


def load_object(path: str, where: str) -> Any:
    """Imports the module of package.module:name, and returns the object. The name may have dots.

    Errors: UserError, which names `where` (the config's field), if the path has another form, the module can't be
    imported, another one hides it from beside the config, or it has no such object.
    """
    if complaint := complaint_about_file(path):
        raise UserError(f"{where}: {complaint}")
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise UserError(f"{where}: {path!r} is not of the form package.module:name")
    if module_name.startswith("."):
        raise UserError(
            f"{where}: {path!r} begins with a dot, and there is no package around it: write {path.lstrip('.')}"
        )
    refuse_hidden(module_name, where)
    try:
        found: Any = _import(module_name, where)
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        told = f"{error}{place_of(error)}{searched(module_name) if is_missing else ''}"
        raise UserError(f"{where}: can't import {module_name}: {told}") from None
    except (Exception, SystemExit) as error:
        raise UserError(f"{where}: importing {module_name} failed: {placed(error)}") from error
    parts = attribute.split(".")
    for place, part in enumerate(parts):
        if not hasattr(found, part):
            close = difflib.get_close_matches(part, dir(found), n=1)
            within = None if _is_pythons(found) else _module_with(found, part)
            meant = f"{within}:{'.'.join(parts[place:])}" if within else close[0] if close else ""
            hint = f"; did you mean {meant!r}?" if meant else _folder_hint(found)
            raise UserError(f"{where}: {module_name} has no {part!r}{hint}")
        found = getattr(found, part)
    return found


def complaint_about_file(path: str) -> str:
    """Returns a complaint about a name that is a path of a file (`src/shop.py:Shop`), which says how it is written with
    the file's module; "" for other names.
    """
    file, _, attribute = (path, "", "") if path.endswith(".py") else path.rpartition(":")
    if not (file.endswith(".py") or "/" in file or "\\" in file) or "://" in path:
        return ""
    place = Path(file.replace("\\", "/").removesuffix("/__init__.py"))
    spelled = f"{place.stem}:{attribute or 'NAME'}, and go to its folder, or install it"
    for folder in dict.fromkeys(absolute_path(Path(each or ".")) for each in ("", *sys.path)):
        whole = absolute_path(place).with_suffix("")
        parts = whole.relative_to(folder).parts if whole.is_relative_to(folder) else ()
        if parts and all(part.isidentifier() for part in parts):
            spelled = f"{'.'.join(parts)}:{attribute or 'NAME'}"
            break
    return f"{path!r} names a file, and a module is expected, as package.module:name; write {spelled}"


def module_of_users(name: str) -> str | None:
    """Returns the package.module:name that is meant by the name of a module of the user's (`shop`), or of an object in
    one with a dot for the colon (`shop.Shop`); None for other names.
    """
    for module, attribute in ((name, "Class"), (name.rpartition(".")[0], name.rpartition(".")[2])):
        with suppress(Exception, SystemExit):  # those of a package's own code
            spec = importlib.util.find_spec(module) if module else None
            if spec is not None and spec.origin is not None and _is_anothers(str(Path(spec.origin).parent)):
                return f"{module}:{attribute}"
    return None


def searched(module: str) -> str:
    """Returns words for a module that is not found: the folders in which modules are looked for, besides those of Python and
    of installed packages, and the module in them whose name is nearest.
    """
    paths = [str(absolute_path(Path(path or "."))) for path in sys.path if not path or _is_anothers(path)]
    folders = list(dict.fromkeys(paths))
    close = difflib.get_close_matches(module.partition(".")[0], [one.name for one in iter_modules(folders)], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"; it is in none of the folders {', '.join(folders)}: go to its folder, or install it{hint}"


def _is_anothers(path: str) -> bool:
    """Says whether an import path is a folder that is neither Python's nor of installed packages. (The hooks of editable
    installs put names there that are no folders.)
    """
    is_pythons = path.startswith((sys.prefix, sys.base_prefix)) or "site-packages" in path
    return not is_pythons and Path(path).is_dir()


def _module_with(package: Any, name: str) -> str | None:
    """Returns the module of a package, one right below it, whose text defines a class or a function; None without one."""
    definition = re.compile(rf"^(?:class|(?:async )?def) {re.escape(name)}\b", re.MULTILINE)
    for folder in getattr(package, "__path__", ()) if isinstance(package, ModuleType) else ():
        for file in sorted(Path(folder).glob("*.py")):
            if file.stem != "__init__" and definition.search(file.read_text("utf-8", errors="replace")):
                return f"{package.__name__}.{file.stem}"
    return None


def _is_pythons(found: Any) -> bool:
    """Returns True for a module of Python's own."""
    pythons = {*sys.stdlib_module_names, "test"}  # its own tests, which Python leaves out of the list
    return isinstance(found, ModuleType) and found.__name__.partition(".")[0] in pythons


def _folder_hint(found: Any) -> str:
    """Returns a hint if the module is Python's own, or a folder without __init__.py, else "". A project's folder may be imported in the
    place of the package of that name inside of it.
    """
    if _is_pythons(found):
        return ", for it is Python's own module of that name: rename yours"
    if not isinstance(found, ModuleType) or found.__file__ is not None:
        return ""
    return f", for it is a folder without __init__.py ({', '.join(found.__path__)}): go into the folder with the package, or install it"
