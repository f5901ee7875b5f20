"""Lets a trainer's own modules be imported without packages that have no CPU build here, or that only log.

Such a package is an empty module whose every name is a class that does nothing. What a test calls must not be of it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any


class Empty(types.ModuleType):
    """An empty module makes a class of each name that is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {"__init__": lambda self, *_, **__: None})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds empty modules for packages by their names."""

    def __init__(self, packages: set[str]) -> None:
        self._packages = packages

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        """Returns a spec for a module of the packages; None for others."""
        is_ours = name.split(".")[0] in self._packages
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_ours else None

    def create_module(self, spec: Any) -> types.ModuleType:
        """Makes an empty module."""
        return Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Gives the module a version above all that are asked for."""
        module.__path__ = []
        module.__version__ = "999.0"  # type: ignore[attr-defined]


def pretend(*packages: str) -> None:
    """Has empty modules stand for these packages, whether they are installed or not."""
    sys.meta_path.insert(0, Finder(set(packages)))
