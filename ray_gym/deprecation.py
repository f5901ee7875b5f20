"""Warnings about names that go away. A name is kept for two minor versions after its successor came."""

from __future__ import annotations

import warnings


def warn_renamed(old: str, new: str) -> None:
    """Tell users, once a process and name, under which name to ask from now on."""
    warnings.warn(f"{old} is called {new} now, and the old name will go: change it", FutureWarning, stacklevel=3)
