"""Finds the classes that names in a config stand for.

A name is looked for, in this order: as package.module:Class; among the entry points of the group (how other
distributions add theirs; those of the projects in the working directory and beside the config come first, and need no
installation); and by
convention, as a module of a known package that has the class (how this repository's own `envs/` and `deployments/` are
found without the engine knowing any of them by name). Environments are looked for in a package `envs` of the user's,
too.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import pkgutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ray_gym.beside import PROJECT, config_projects, refuse_hidden
from ray_gym.config.sections import ModelSection
from ray_gym.environment import Environment
from ray_gym.errors import RunFailed, UserError, code_place, describe, placed
from ray_gym.load_object import complaint_about_file, load_module, load_object, module_of_users
from ray_gym.sandbox.kind import SandboxKind

MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True)
class PluginKind:
    """A kind of plugin says where classes of its sort are looked for.

    `what` is its name in messages, `group` its entry-point group, `packages` are the packages with modules by
    convention.
    """

    what: str
    group: str
    packages: tuple[str, ...] = ()
    suffix: str = ""
    """End of the names of such classes, by convention."""
    users_package: str | None = None
    """A package of the user's in which a name is looked for last."""
    ours: Mapping[str, str] = field(default_factory=dict)
    """Names of this package's own, each as package.module:Class."""


ENVIRONMENT = PluginKind("environment", "ray_gym.environments", ("ray_gym.envs",), "", users_package="envs")
ENGINE = PluginKind("engine", "ray_gym.engines", ("ray_gym.engines", "ray_gym.deployments"), "Engine")
GATEWAY = PluginKind("gateway", "ray_gym.gateways", ("ray_gym.deployments",), "Gateway")
SANDBOX = PluginKind(
    "sandbox",
    "ray_gym.sandboxes",
    ours={
        "process": "ray_gym.sandbox.process:ProcessSandbox",
        "bubblewrap": "ray_gym.sandbox.bubblewrap:BubblewrapSandbox",
        "podman": "ray_gym.sandbox.container:PodmanSandbox",
        "docker": "ray_gym.sandbox.container:DockerSandbox",
        "apptainer": "ray_gym.sandbox.apptainer:ApptainerSandbox",
    },
)


def find_environment(name: str, where: str = "environment.id") -> type[Environment[Any, Any]]:
    """Finds the environment class of a name.

    Errors: UserError, which names `where`, if there is none (it lists the known environments), it can't be imported, or
    is no subclass of `Environment`.
    """
    found = find(ENVIRONMENT, name, where)
    if not (isinstance(found, type) and issubclass(found, Environment)):
        raise UserError(f"{where}: {name} is not a subclass of ray_gym.Environment")
    return found


def construct(made: Callable[[Any], MadeT], options: BaseModel, where: str) -> MadeT:
    """Makes an environment or an engine from its class and options. `where`: the part of the input that names it.
    Errors: UserError, also for an unexpected exception of the constructor, with its place, and for an environment's that
    keeps no options; RunFailed.
    """
    try:
        one = made(options)
    except (UserError, RunFailed):
        raise
    except (Exception, SystemExit) as error:
        name = getattr(made, "__name__", made)
        raise UserError(f"{where}: {name}.__init__ failed: {placed(error)}") from error
    if isinstance(one, Environment) and not _keeps(one, options):
        place = code_place(type(one).__init__)
        raise UserError(f"{where}: {type(one).__name__}.__init__{place} does not call super().__init__(options)")
    return one


def _keeps(environment: Environment[Any, Any], options: BaseModel) -> bool:
    """Says whether an environment has options, and not defaults in the place of those that it was given."""
    kept = getattr(environment, "options", None)
    if kept is None:
        return False
    are_defaults = isinstance(kept, type(options)) and not kept.model_fields_set
    return not are_defaults or kept == options


def load_for_listing(name: str) -> Environment[Any, Any] | type[Environment[Any, Any]]:
    """Returns the environment with its default options, which may decide who plays; the class where options have to be
    given, something that it needs is not installed, or its constructor fails.

    Errors: UserError if there is no such environment, or it can't be imported.
    """
    found = find_environment(name)
    try:
        return construct(found, found.Options(), name)
    except (ValidationError, UserError):
        return found


def find_sandbox(name: str, where: str) -> type[SandboxKind]:
    """Finds the class of a kind of sandbox. Errors: UserError, which names `where`, if there is none (it lists the known
    kinds), it can't be imported, or is no subclass of `SandboxKind`.
    """
    found = find(SANDBOX, name, where)
    if not (isinstance(found, type) and issubclass(found, SandboxKind)):
        raise UserError(f"{where}: {name} is not a subclass of ray_gym.sandbox.SandboxKind")
    return found


def find_engine(name: str, where: str) -> Any:
    """Finds the engine class of a name. Errors: UserError, which names `where`, if there is none (it lists the known
    engines), it can't be imported, or an option has the name of a key that each model has.
    """
    found = find(ENGINE, name, where)
    fields = getattr(getattr(found, "Options", None), "model_fields", {})
    if taken := [key for key in ModelSection.model_fields if key in fields]:
        raise UserError(f"{where}: {found.__name__}.Options.{taken[0]} is a key of every model: rename the option")
    return found


def find_gateway(name: str = "gateway") -> Any:
    """Finds the class of the gateway that opens a service to the network. Errors: UserError if there is none, or it
    can't be imported.
    """
    return find(GATEWAY, name, "ray-gym serve")


def package_of(module: str) -> str:
    """Returns the top-level package that a module belongs to; `ray_gym.envs` for an environment that comes with the
    engine, because it is none of the engine's own code.
    """
    beside = (package for package in ENVIRONMENT.packages if module.startswith(f"{package}."))
    return next(beside, module.partition(".")[0])


def names(kind: PluginKind) -> list[str]:
    """Returns all names of a kind that can be given without a path, sorted. Modules of the user's that can't be
    imported are left out, and `left_out` has them. Errors: UserError if a pyproject.toml can't be read.
    """
    found = (
        _installed_entry_points(kind.group, tuple(sys.path)).keys()
        | _project_entry_points(kind).keys()
        | kind.ours.keys()
    )
    for package in kind.packages:
        found.update(name for name in _modules(package) if _exported_class(kind, f"{package}.{name}") is not None)
    for name, module in _users_modules(kind).items():
        with contextlib.suppress(Exception, SystemExit):
            found.update({name} if _exported_class(kind, module) is not None else ())
    return sorted(found)


def left_out(kind: PluginKind) -> dict[str, str]:
    """Returns the user's modules of a kind that can't be imported, each with the reason."""
    reasons = {}
    for module in _users_modules(kind).values():
        try:
            load_module(module, kind.what)
        except (Exception, SystemExit) as error:
            reasons[module] = placed(error)
    return reasons


def module_path(kind: PluginKind, name: str) -> str:
    """Returns what this project's entry points give for a name, as package.module:Class, for processes with another
    working directory; else the name itself. Errors: UserError if a pyproject.toml can't be read.
    """
    return _project_entry_points(kind).get(name, name)


def find(kind: PluginKind, name: str, where: str) -> Any:
    """Finds the class of a name, or the object of a package.module:name.

    Errors: UserError, which names `where`, if there is none (it lists the known names), or it can't be imported;
    UserError if a pyproject.toml can't be read.
    """
    if ":" in name or complaint_about_file(name):
        return load_object(name, where)
    if (own := _project_entry_points(kind).get(name)) is not None:
        return load_object(own, where)
    if (installed := _installed_entry_points(kind.group, tuple(sys.path)).get(name)) is not None:
        return load_object(installed, where)
    if name in kind.ours:
        return load_object(kind.ours[name], where)
    for package in kind.packages:
        if name in _modules(package):
            found = _exported_class(kind, f"{package}.{name}")
            if found is not None:
                return found
    if name in (users := _users_modules(kind)):
        refuse_hidden(users[name], where)
        try:
            found = _exported_class(kind, users[name])
        except (Exception, SystemExit) as error:
            raise UserError(f"{where}: importing {users[name]} failed: {placed(error)}") from error
        if found is not None:
            return found
    known = names(kind)
    meant = module_of_users(name) or next(iter(difflib.get_close_matches(name, known, n=1)), None)
    hint = f"did you mean {meant!r}? " if meant else ""
    listing = ", ".join(known) or "none"
    raise UserError(
        f"{where}: there is no {kind.what} {name!r}; {hint}known: {listing}; your own: package.module:Class, "
        f"or a name in the {PROJECT} of this folder or the config's"
    )


@lru_cache(maxsize=16)
def _installed_entry_points(group: str, path: tuple[str, ...]) -> Mapping[str, str]:
    """Returns the entry points of a group that installed distributions have, by name. They are looked for once, as that
    reads a file of each distribution. `path`: `sys.path`, where they are found.
    """
    return {entry.name: entry.value for entry in reversed(list(entry_points(group=group)))}  # the first one counts


def _project_entry_points(kind: PluginKind) -> dict[str, str]:
    """Returns the entry points of a kind that ./pyproject.toml and those beside configs declare, by name; ./pyproject.toml
    goes first. Its folder is a checkout, or the working directory of a submitted job. Errors: UserError if a file can't be
    read.
    """
    found: dict[str, str] = {}
    for project in (Path(PROJECT), *config_projects()):
        try:
            declared = _declared_entry_points(project.read_text("utf-8"))
            found = {**{str(name): str(path) for name, path in declared.get(kind.group, {}).items()}, **found}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, AttributeError) as error:
            raise UserError(
                f"{project.absolute()}: can't read the entry points of this project: {describe(error)}"
            ) from None
    return found


@lru_cache(maxsize=4)
def _declared_entry_points(project: str) -> Mapping[str, Any]:
    """Returns the entry points that a pyproject.toml declares, by group. Errors: ValueError, AttributeError."""
    found: Mapping[str, Any] = tomllib.loads(project).get("project", {}).get("entry-points", {})
    return found


def _modules(package: str) -> list[str]:
    return [info.name for info in pkgutil.iter_modules(importlib.import_module(package).__path__)]


def _users_modules(kind: PluginKind) -> dict[str, str]:
    """Returns the modules of the user's package that mention ray_gym, by name: importing any other could do
    anything.
    """
    spec = importlib.util.find_spec(kind.users_package) if kind.users_package else None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    ours = {str(Path(folder).resolve()) for package in kind.packages for folder in _folders(package)}
    return {
        info.name: f"{kind.users_package}.{info.name}"
        for folder in folders
        if str(Path(folder).resolve()) not in ours
        for info in pkgutil.iter_modules([folder])
        if _mentions_ray_gym(Path(folder), info.name)
    }


def _folders(package: str) -> list[str]:
    return list(importlib.import_module(package).__path__)


def _mentions_ray_gym(folder: Path, name: str) -> bool:
    files = [folder / f"{name}.py", *(folder / name).glob("*.py")]
    return any(b"ray_gym" in file.read_bytes() for file in files if file.is_file())


def _exported_class(kind: PluginKind, module_name: str) -> Any | None:
    module = load_module(module_name, kind.what)
    found = [value for value in vars(module).values() if _fits(kind, value, module)]
    return found[0] if found else None


def _fits(kind: PluginKind, value: Any, module: ModuleType) -> bool:
    if not isinstance(value, type) or not f"{value.__module__}.".startswith(f"{module.__name__}."):
        return False
    if kind is ENVIRONMENT:
        return issubclass(value, Environment)
    return value.__name__.endswith(kind.suffix) and value.__name__ != kind.suffix
