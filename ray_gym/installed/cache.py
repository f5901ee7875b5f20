"""Says where this machine's cache of models and programs is."""

from __future__ import annotations

import os
from pathlib import Path

from ray_gym.paths import home_expanded


def cache_dir() -> Path:
    """Returns the folder of ray_gym's cache: `RAY_GYM_CACHE`, or `~/.cache/ray_gym` if that variable is not set.
    Errors: UserError if a `~` in it stands for no folder.
    """
    root = os.environ.get("RAY_GYM_CACHE")
    return home_expanded(root, "RAY_GYM_CACHE") if root else Path.home() / ".cache" / "ray_gym"


def agents_dir() -> Path:
    """Returns the folder of agents' programs that `make agents` installs, which may not exist."""
    return cache_dir() / "agents"
