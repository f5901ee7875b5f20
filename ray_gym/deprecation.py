"""Warns about names that go away. A name is kept for two minor versions after its successor came."""

from __future__ import annotations

import warnings

GOES_IN = "0.4"
"""Version that removes the old names; their successors came with 0.2."""


def warn_renamed(old: str, new: str) -> None:
    """Gives a FutureWarning that `old` is called `new` now, at the place in the code that used the old name."""
    warnings.warn(_message(old, new), FutureWarning, stacklevel=3)


def warn_renamed_in(where: str, old: str, new: str) -> None:
    """Gives a FutureWarning that `old`, which the text `where` names (a field of a config), is called `new` now. It
    names `where` in the place of a file, and comes once.
    """
    registry = globals().setdefault("__warningregistry__", {})  # Python's own of this module
    warnings.warn_explicit(_message(old, new), FutureWarning, where, 1, registry=registry)


def _message(old: str, new: str) -> str:
    return f"{old} is called {new} now; change it, as {GOES_IN} removes the old name"
