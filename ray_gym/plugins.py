"""From names in a config to classes.

A name is looked for, in this order: as package.module:Class; among the entry points of the group (how other
distributions add theirs; those of the project in the working directory come first, and need no installation); and by
convention, as a module of a known package that has the class (how this repository's own `envs/` and `deployments/` are
found without the engine knowing any of them by name). Environments are looked for in a package `envs` of the user's, too.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import pkgutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from ray_gym.environment import Environment
from ray_gym.errors import UserError, describe
from ray_gym.load_object import load_object


@dataclass(frozen=True, slots=True)
class Kind:
    what: str
    group: str
    packages: tuple[str, ...] = ()
    suffix: str = ""
    """Classes by convention end with it, or are exported under the module's only class that does."""
    users_package: str | None = None
    """A package of the user's in which a name is looked for last."""
    ours: Mapping[str, str] = field(default_factory=dict)
    """Names of this package's own, each as package.module:Class."""


ENVIRONMENT = Kind("environment", "ray_gym.environments", ("ray_gym.envs",), "", users_package="envs")
ENGINE = Kind("engine", "ray_gym.engines", ("ray_gym.engines", "ray_gym.deployments"), "Engine")
GATEWAY = Kind("gateway", "ray_gym.gateways", ("ray_gym.deployments",), "Gateway")

PROJECT = Path("pyproject.toml")


def find_environment(name: str, where: str = "environment.id") -> type[Environment[Any, Any]]:
    """Errors: `UserError` that names `where`, and lists the environments there are."""
    found = find(ENVIRONMENT, name, where)
    if not (isinstance(found, type) and issubclass(found, Environment)):
        raise UserError(f"{where}: {name} is not a subclass of ray_gym.Environment")
    return found


def as_listed(name: str) -> Environment[Any, Any] | type[Environment[Any, Any]]:
    """With its default options, which may decide who plays; as it is where options have to be given. Errors: UserError."""
    found = find_environment(name)
    try:
        options = found.Options()
    except ValidationError:
        return found
    return found(options)


def find_engine(name: str, where: str) -> Any:
    """The engine class of a name. Errors: `UserError` that lists the engines there are."""
    return find(ENGINE, name, where)


def find_gateway(name: str = "gateway") -> Any:
    """The class of the gateway that opens a service to the network. Errors: `UserError`."""
    return find(GATEWAY, name, "ray-gym serve")


def names(kind: Kind) -> list[str]:
    """All that can be named without a path, sorted."""
    found = {entry.name for entry in entry_points(group=kind.group)} | _of_this_project(kind).keys() | kind.ours.keys()
    for package in kind.packages:
        found.update(name for name in _modules(package) if _exported(kind, f"{package}.{name}") is not None)
    for name, module in _users_modules(kind).items():
        with contextlib.suppress(Exception):  # for whoever asks for it by its name
            found.update({name} if _exported(kind, module) is not None else ())
    return sorted(found)


def module_path(kind: Kind, name: str) -> str:
    """For processes with another working directory: what this project calls by the name, as package.module:Class. Errors: UserError."""
    return _of_this_project(kind).get(name, name)


def find(kind: Kind, name: str, where: str) -> Any:
    """The class of a name. Errors: `UserError` that names `where`, and lists the names there are."""
    if ":" in name:
        return load_object(name, where)
    if (own := _of_this_project(kind).get(name)) is not None:
        return load_object(own, where)
    for entry in entry_points(group=kind.group, name=name):
        return load_object(entry.value, where)
    if name in kind.ours:
        return load_object(kind.ours[name], where)
    for package in kind.packages:
        if name in _modules(package):
            found = _exported(kind, f"{package}.{name}")
            if found is not None:
                return found
    if name in (users := _users_modules(kind)):
        try:
            found = _exported(kind, users[name])
        except Exception as error:
            raise UserError(f"{where}: importing {users[name]} failed: {describe(error)}") from error
        if found is not None:
            return found
    known = names(kind)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    listing = ", ".join(known) or "none"
    raise UserError(
        f"{where}: there is no {kind.what} {name!r}; {hint}known: {listing}; your own: package.module:Class"
    )


def _of_this_project(kind: Kind) -> dict[str, str]:
    """The entry points that ./pyproject.toml declares, as a checkout has them, or the working directory of a submitted job."""
    try:
        project = tomllib.loads(PROJECT.read_text()).get("project", {})
        return {str(name): str(path) for name, path in project.get("entry-points", {}).get(kind.group, {}).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(
            f"{PROJECT.absolute()}: can't read the entry points of this project: {describe(error)}"
        ) from None


def _modules(package: str) -> list[str]:
    return [info.name for info in pkgutil.iter_modules(importlib.import_module(package).__path__)]


def _users_modules(kind: Kind) -> dict[str, str]:
    """The modules, by name, of the user's package that speak of ray_gym. Others may do anything when they are imported."""
    spec = importlib.util.find_spec(kind.users_package) if kind.users_package else None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    ours = {str(Path(folder).resolve()) for package in kind.packages for folder in _folders(package)}
    return {
        info.name: f"{kind.users_package}.{info.name}"
        for folder in folders
        if str(Path(folder).resolve()) not in ours
        for info in pkgutil.iter_modules([folder])
        if _speaks_of_us(Path(folder), info.name)
    }


def _folders(package: str) -> list[str]:
    return list(importlib.import_module(package).__path__)


def _speaks_of_us(folder: Path, name: str) -> bool:
    files = [folder / f"{name}.py", *(folder / name).glob("*.py")]
    return any(b"ray_gym" in file.read_bytes() for file in files if file.is_file())


def _exported(kind: Kind, module_name: str) -> Any | None:
    module = importlib.import_module(module_name)
    found = [value for value in vars(module).values() if _fits(kind, value, module)]
    return found[0] if found else None


def _fits(kind: Kind, value: Any, module: ModuleType) -> bool:
    if not isinstance(value, type) or not f"{value.__module__}.".startswith(f"{module.__name__}."):
        return False
    if kind is ENVIRONMENT:
        return issubclass(value, Environment)
    return value.__name__.endswith(kind.suffix) and value.__name__ != kind.suffix
