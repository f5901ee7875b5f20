"""Makes paths absolute, as messages show them, reads a `~` in them, and refuses a variable."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ray_gym.errors import UserError

VARIABLE = re.compile(r"\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*)(?![A-Za-z0-9_]))")
"""A variable as shells write it."""


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


def refuse_variable(location: str) -> None:
    """Checks that a location from a config has no variable in it as shells write it, `$HOME` say, for no shell reads it.
    Errors: UserError.
    """
    if (found := VARIABLE.search(location)) is not None:
        meant = location.replace(found[0], f"${{oc.env:{found[1] or found[2]}}}")
        raise UserError(f"{location}: {found[0]} is a name here, and no variable: write {meant}")
