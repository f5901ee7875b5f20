"""Looks up a function that a config names in the files of its module, which is not imported: an agent's code runs in a
process of its own.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from pkgutil import iter_modules

from ray_gym.load_object import searched

BINDING = frozenset({"__getattr__", "globals", "exec", "setattr"})
"""Names by which a module's code may bind others."""


def complaint_about_function(name: str) -> str | None:
    """Returns what is wrong with package.module:function; None if nothing is, or if the files alone can't tell."""
    module, _, attribute = name.partition(":")
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        part, above = ".".join(parts[:depth]), spec
        try:
            spec = _find(part, above)
        except (ImportError, ValueError):
            return None
        if spec is None:
            where = searched(module) if above is None else _near(part, above)
            return f"can't import {module}: No module named {part!r}{where}"
    first = attribute.partition(".")[0]
    names = _names_in(spec) if spec is not None else None
    if names is None or first in names:
        return None
    close = difflib.get_close_matches(first, names, n=1)
    return f"{module} has no {first!r}" + (f"; did you mean {close[0]!r}?" if close else "")


def module_beside(name: str, missing: str) -> Path | None:
    """Returns the file or the folder of a top-level module `missing` that lies beside the module of package.module:function;
    None if there is none, or if both are in one package.
    """
    module = name.partition(":")[0]
    with suppress(ImportError, ValueError):
        spec = None if "." in module or "." in missing else importlib.util.find_spec(module)
        folder = Path(spec.origin or "").parent if spec is not None and not spec.submodule_search_locations else None
        beside = [folder / f"{missing}.py", folder / missing] if folder is not None else []
        return next((place for place in beside if place.exists()), None)
    return None


def _find(name: str, above: ModuleSpec | None) -> ModuleSpec | None:
    """Finds a module in the package `above`, or a top-level one. Errors: ImportError; ValueError."""
    if above is None:
        return importlib.util.find_spec(name)
    return PathFinder.find_spec(name, above.submodule_search_locations or [])


def _near(name: str, above: ModuleSpec) -> str:
    """Returns words for the module of a package whose name is nearest to one that is not there; "" without one."""
    package, _, last = name.rpartition(".")
    close = difflib.get_close_matches(last, _modules_in(above), n=1)
    return f"; did you mean '{package}.{close[0]}'?" if close else ""


def _modules_in(package: ModuleSpec) -> list[str]:
    """Returns the names of a package's modules; [] for other modules."""
    return [one.name for one in iter_modules(package.submodule_search_locations or [])]


def _names_in(spec: ModuleSpec) -> set[str] | None:
    """Returns all names that a module's text binds at any depth, and those of a package's modules; None if its text is not
    there, can't be read, or may bind others.
    """
    if not str(spec.origin).endswith(".py"):
        return None
    try:
        tree = ast.parse(Path(str(spec.origin)).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    names = {*_bound(tree), *_modules_in(spec)}
    if "*" in names or BINDING & {*names, *(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))}:
        return None
    return names


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
