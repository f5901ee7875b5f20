"""Reaches the library Gymnasium, which is imported only when it is needed: the environment can be listed without it."""

from __future__ import annotations

from typing import Any

from ray_gym.errors import UserError


def library() -> Any:
    """Returns the module `gymnasium`. Errors: UserError if it is not installed."""
    try:
        import gymnasium
    except ImportError as error:
        raise UserError(
            f"environment gymnasium: its library is missing ({error}); install ray-gym[adapters] (here: make adapters)"
        ) from None
    return gymnasium
