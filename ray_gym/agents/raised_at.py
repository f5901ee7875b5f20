"""Finds where a program of Python raised what ended it, in what it wrote to standard error."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_BEGINS = "Traceback (most recent call last):"
_FRAME = re.compile(
    r'^\s+File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9}), in (?P<function>[^\n]{1,200})$', re.MULTILINE
)
_OTHERS = re.compile(r"/(?:site|dist)-packages/|/lib/python3[^/]*/")
"""Part of the path of a file that is no author's: of Python's library, or of a package."""


def raised_at(errors: str) -> str:
    """Returns the innermost place in the last traceback of a text, as `play (agent.py:7)`: that of an author's own file, if
    there is one; "" without a traceback.
    """
    _, begins, last = errors.rpartition(_BEGINS)
    frames = [found for found in _FRAME.finditer(last) if not found["file"].startswith("<")] if begins else []
    own = [found for found in frames if not _OTHERS.search(found["file"])] or frames
    if not own:
        return ""
    return f"{own[-1]['function']} ({PurePosixPath(own[-1]['file']).name}:{own[-1]['line']})"
