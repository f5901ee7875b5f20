"""Runs a generated package in this process, without importing it: its code is this project's own, with a fault in it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from ray_gym.envs.code_repair.driver import run_check

MOST_TICKS = 20_000
"""Turns of loops and calls of functions that one check may take."""


class RunsForEver(BaseException):
    """Says that code took more turns of loops than it may. No `except Exception` of the code catches it."""


class Package:
    """Runs checks of a package from its sources."""

    def __init__(self, name: str, sources: Mapping[str, str]) -> None:
        """Compiles the code of each module, which `sources` gives by path (`name/module.py`). Errors: SyntaxError."""
        self._name = name
        self._code = {_module_of(path): compile(_ticking(source), path, "exec") for path, source in sources.items()}

    def run(self, imports: str, lines: Sequence[str], asks: str) -> dict[str, Any]:
        """Runs a check on fresh modules, and returns what it gave (`driver.run_check`). Errors: RunsForEver."""
        return run_check(imports, list(lines), asks, {"__builtins__": _Modules(self._name, self._code).builtins})


class _Modules:
    """Holds the modules of a package for one check."""

    def __init__(self, package: str, code: Mapping[str, Any]) -> None:
        self._package, self._code = package, code
        self._loaded: dict[str, ModuleType] = {}
        self._ticks = 0
        self.builtins = {**vars(builtins), "__import__": self._import, "_tick": self._tick}

    def _tick(self) -> None:
        self._ticks += 1
        if self._ticks > MOST_TICKS:
            raise RunsForEver

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] = (), level: int = 0
    ) -> Any:
        """Imports a module of the package, or any other as Python does."""
        if level:
            name = f"{self._package}.{name}" if name else self._package
        elif name.partition(".")[0] != self._package:
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = self._load(name)
        for inner in fromlist:
            if f"{name}.{inner}" in self._code:
                setattr(module, inner, self._load(f"{name}.{inner}"))
        return module if fromlist else self._load(self._package)

    def _load(self, name: str) -> ModuleType:
        if name not in self._loaded:
            module = self._loaded[name] = ModuleType(name)
            module.__dict__.update(__builtins__=self.builtins, __package__=self._package)
            exec(self._code[name], module.__dict__)
        return self._loaded[name]


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _ticking(source: str) -> ast.Module:
    """Returns code that counts the turns of its loops and the calls of its functions."""
    tree = ast.parse(source)
    tick = ast.parse("_tick()").body
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While | ast.FunctionDef):
            node.body[:0] = tick
    return ast.fix_missing_locations(tree)
