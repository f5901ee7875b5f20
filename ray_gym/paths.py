"""Makes paths absolute, as messages show them."""

from __future__ import annotations

import os
from pathlib import Path


def absolute_path(path: Path) -> Path:
    """Returns the absolute path without `..`. Symbolic links in it stay, and so does a `..` behind one, which leads to
    another place than the text says.
    """
    whole = path.absolute()
    short = Path(os.path.normpath(whole))
    return short if short.resolve() == whole.resolve() else whole
