"""Reaches the library aviary, which is imported only when it is needed: the environment can be listed without it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_origin, get_type_hints

from ray_gym.errors import UserError, describe
from ray_gym.installed.extras import not_installed
from ray_gym.load_object import load_object


def library() -> Any:
    """Imports the module `aviary.env`, and returns it. Errors: NotInstalled if it can't be imported."""
    try:
        import aviary.core  # the others of its modules import each other in its order
        import aviary.env
    except ImportError as error:
        raise not_installed(f"its library ({error})", "adapters", "environment.id: aviary") from None
    return aviary.env


def maker(name: str) -> Callable[..., Any]:
    """Finds the callable of this name that makes an environment or a dataset of tasks.

    The name is package.module:Name, or one that the library knows. Errors: UserError if nothing has the name, or if it
    makes neither; NotInstalled if the library can't be imported.
    """
    env = library()
    known: dict[str, tuple[str, str]] = {**env.TASK_DATASET_REGISTRY, **env.ENV_REGISTRY}
    if ":" not in name and name not in known:
        listing = ", ".join(sorted(known))
        raise UserError(
            f"environment.environment: {name!r} is not of the form package.module:Class, and the library knows: {listing}"
        )
    found: Any = load_object(":".join(known.get(name, ())) or name, "environment.environment")
    problem = _why_no_maker(found)
    if problem:
        raise UserError(f"environment.environment: {name} makes no environment: {problem}")
    return found  # type: ignore[no-any-return]


def _why_no_maker(found: Any) -> str:
    """Returns the reason for which an object makes neither an environment nor a dataset; "" if it makes one.

    It reads only what the object declares, as a call of it could do anything.
    """
    from aviary.functional import EnvironmentBuilder

    if isinstance(found, EnvironmentBuilder):
        return ""
    if isinstance(found, type):
        return (
            ""
            if _is_environment_or_dataset(found)
            else "it is a class, but of neither an Environment nor a TaskDataset"
        )
    if not callable(found):
        return f"it is a {type(found).__name__}"
    try:
        returned = get_type_hints(found).get("return")
    except Exception as error:
        return f"what it returns can't be told: {describe(error)}"
    return (
        "" if _is_environment_or_dataset(returned) else "it is not annotated to return an Environment or a TaskDataset"
    )


def _is_environment_or_dataset(kind: Any) -> bool:
    env, plain = library(), get_origin(kind) or kind
    return isinstance(plain, type) and issubclass(plain, env.Environment | env.TaskDataset)


def check_arguments(name: str, arguments: Mapping[str, Any]) -> None:
    """Checks that the maker of this name takes these arguments. Errors: ValueError if not; UserError if there is no
    such maker.
    """
    try:
        inspect.signature(maker(name)).bind(**arguments)
    except TypeError as error:
        raise ValueError(f"arguments: {name}: {error}") from None


def make(name: str, arguments: Mapping[str, Any], index: int) -> Any:
    """Makes an environment of the library; for a dataset, its environment at `index`, or any if it has no order. May
    block.

    Errors: TypeError if the result is neither environment nor dataset; UserError if there is no such maker; exceptions
    of the library.
    """
    env = library()
    made = maker(name)(**arguments)
    if isinstance(made, env.TaskDataset):
        try:
            made = made.get_new_env_by_idx(index)
        except NotImplementedError:
            made = made.get_new_env()
    if not isinstance(made, env.Environment):
        raise TypeError(f"{name} made a {type(made).__name__}, which is no environment of aviary")
    return made
