"""Names what a request asks for that isn't here, and that its caller can do without.

The names come from the caller, and go into a header of the answer and into the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

MOST_LEFT_OUT = 32
"""Largest number of names that are told; of further ones their number is."""
LONGEST_NAME = 64
"""Most characters that are told of a name."""
_NAME = re.compile(rf"[A-Za-z0-9_.:/-]{{1,{LONGEST_NAME}}}")


def is_plain_name(name: str) -> bool:
    """Returns True if a name of a field or a tool may stand in a header as it is."""
    return _NAME.fullmatch(name) is not None


def left_out_names(given: Iterable[str]) -> tuple[str, ...]:
    """Returns some names in sorted order, each once, as they may stand in a header: odd characters are percent-encoded,
    and a long name is cut. Behind the first `MOST_LEFT_OUT`, a last one says how many more there are.
    """
    names = sorted(set(given))
    more = len(names) - MOST_LEFT_OUT
    return (*map(_shown, names[:MOST_LEFT_OUT]), *([f"and {more} more"] if more > 0 else ()))


def _shown(name: str) -> str:
    shown = quote(name, safe="/:", errors="backslashreplace")
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 3]}..."
