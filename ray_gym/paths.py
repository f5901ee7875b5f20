"""Makes paths absolute, as messages show them, and reads a `~` in them."""

from __future__ import annotations

import os
from pathlib import Path

from ray_gym.errors import UserError


def absolute_path(path: Path) -> Path:
    """Returns the absolute path without `..`. Symbolic links in it stay, and so does a `..` behind one, which leads to
    another place than the text says.
    """
    whole = path.absolute()
    short = Path(os.path.normpath(whole))
    return short if short.resolve() == whole.resolve() else whole


def home_expanded(path: str | Path, where: str | None = None) -> Path:
    """Returns a path whose first part may be `~` or `~USER` with the home folder instead. `where`: the part of the input
    that names the path. Errors: UserError if there is no such user or folder.
    """
    given = Path(path)
    try:
        return given.expanduser()
    except RuntimeError:
        user = given.parts[0][1:]
        why = f"there is no user {user!r}" if user else "this user has no home folder: set HOME"
        raise UserError(f"{f'{where}: ' if where else ''}{given}: {why}") from None
