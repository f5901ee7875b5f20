"""Reaches the library Gymnasium, which is imported only when it is needed: the environment can be listed without it."""

from __future__ import annotations

from typing import Any

from ray_gym.installed.extras import not_installed


def library() -> Any:
    """Imports the module `gymnasium`, and returns it. Errors: NotInstalled if it can't be imported."""
    try:
        import gymnasium
    except ImportError as error:
        raise not_installed(f"its library ({error})", "adapters", "environment.id: gymnasium") from None
    return gymnasium
