"""The library, imported when it is needed: the environment can be listed without it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ray_gym.errors import UserError
from ray_gym.plugins import load_object


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
    if not callable(found):
        raise UserError(f"environment.environment: {name} makes no environment: it is a {type(found).__name__}")
    return found  # type: ignore[no-any-return]


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
