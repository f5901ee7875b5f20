"""Names what a request asks for that isn't here, and that its caller can do without.

The names come from the caller, and go into a header of the answer and into the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_LEFT_OUT = 32
"""Largest number of names."""
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")


def is_plain_name(name: str) -> bool:
    """Returns True if a name of a field or a tool may stand in a header as it is."""
    return _NAME.fullmatch(name) is not None


def left_out_names(given: Iterable[str]) -> tuple[str, ...]:
    """Returns the plain ones of some names in sorted order, each once: at most `MOST_LEFT_OUT`."""
    return tuple(sorted({name for name in given if is_plain_name(name)})[:MOST_LEFT_OUT])
