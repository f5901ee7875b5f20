"""Says where this machine's cache of models and programs is."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Returns the folder of ray_gym's cache: `RAY_GYM_CACHE`, or `~/.cache/ray_gym` if that variable is not set."""
    root = os.environ.get("RAY_GYM_CACHE")
    return Path(root).expanduser() if root else Path.home() / ".cache" / "ray_gym"


def agents_dir() -> Path:
    """Returns the folder of agents' programs that `make agents` installs, which may not exist."""
    return cache_dir() / "agents"
