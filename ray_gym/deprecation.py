"""Warns about names that go away. A name is kept for two minor versions after its successor came."""

from __future__ import annotations

import warnings


def warn_renamed(old: str, new: str) -> None:
    """Gives a FutureWarning that `old` is called `new` now, at the place in the code that used the old name."""
    warnings.warn(f"{old} is called {new} now, and the old name will go: change it", FutureWarning, stacklevel=3)
