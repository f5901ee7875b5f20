"""The library, imported when it is needed: the environment can be listed without it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_origin, get_type_hints

from ray_gym.errors import UserError, describe
from ray_gym.load_object import load_object


def library() -> Any:
    """The module `aviary.env`. Errors: UserError if it is not installed."""
    try:
        import aviary.core  # the others of its modules import each other in its order
        import aviary.env
    except ImportError as error:
        raise UserError(
            f"environment aviary: its library is missing ({error}); install ray-gym[adapters] (here: make adapters)"
        ) from None
    return aviary.env


def maker(name: str) -> Callable[..., Any]:
    """What makes an environment or a dataset of tasks: package.module:Name, or a name that the library knows.

    Errors: UserError.
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
    """By what it says of itself, as a call of anything could do anything. "" for a maker."""
    from aviary.functional import EnvironmentBuilder

    if isinstance(found, EnvironmentBuilder):
        return ""
    if isinstance(found, type):
        return "" if _is_made(found) else "it is a class, but of neither an Environment nor a TaskDataset"
    if not callable(found):
        return f"it is a {type(found).__name__}"
    try:
        returned = get_type_hints(found).get("return")
    except Exception as error:
        return f"what it returns can't be told: {describe(error)}"
    return "" if _is_made(returned) else "it is not annotated to return an Environment or a TaskDataset"


def _is_made(kind: Any) -> bool:
    env, plain = library(), get_origin(kind) or kind
    return isinstance(plain, type) and issubclass(plain, env.Environment | env.TaskDataset)


def check_arguments(name: str, arguments: Mapping[str, Any]) -> None:
    """Errors: ValueError; UserError."""
    try:
        inspect.signature(maker(name)).bind(**arguments)
    except TypeError as error:
        raise ValueError(f"arguments: {name}: {error}") from None


def make(name: str, arguments: Mapping[str, Any], index: int) -> Any:
    """An environment of the library; of a dataset, the one at `index`. May block.

    Errors: TypeError for what is neither; whatever the library raises.
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
