"""Finds where a program of Python raised what ended it, in what it wrote to standard error."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_BEGINS = "Traceback (most recent call last):"
_GROUP_BEGINS = f"Exception Group {_BEGINS}"
_FRAME = re.compile(
    r'^[ \t]+File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>[^\n]{1,200}))?$', re.MULTILINE
)
_OTHERS = re.compile(r"/(?:site|dist)-packages/|/lib/python3[^/]*/")
"""Part of the path of a file that is no author's: of Python's library, or of a package."""
_MARGIN = re.compile(r"^[ \t]*(?:\| ?|\+ (?=Exception Group)|\+-[-+ \d.]*$)", re.MULTILINE)
"""Part of a line that frames the traceback of a group of exceptions."""


def last_line(errors: str) -> str:
    """Returns the last line of a text that has words, without the frame of a group of exceptions; "" if there is none."""
    lines = _without_margins(errors).strip().splitlines()
    return lines[-1] if lines else ""


def raised_at(errors: str) -> str:
    """Returns the innermost place in the last traceback of a text, as `play (agent.py:7)`, or `agent.py:7` for an error of
    syntax in a module: that of an author's own file, if there is one; "" without a traceback. Of a group of exceptions the
    last one counts.
    """
    _, begins, last = _without_margins(errors).rpartition(_BEGINS)
    every = list(_FRAME.finditer(last)) if begins else []
    frames = [found for found in every if not found["file"].startswith("<")]
    own = [found for found in frames if not _OTHERS.search(found["file"])] or frames
    if not own:
        return ""
    place = f"{PurePosixPath(own[-1]['file']).name}:{own[-1]['line']}"
    return f"{own[-1]['function']} ({place})" if own[-1]["function"] else place


def _without_margins(errors: str) -> str:
    return _MARGIN.sub("", errors) if _GROUP_BEGINS in errors else errors
