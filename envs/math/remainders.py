r"""Reads a number that is said to be a remainder: `2 \pmod{7}`."""

from __future__ import annotations

import re

_ASKED = re.compile(r"\bremainder|\bmod(?:ulo)?\b|[pb]mod\b", re.IGNORECASE)
_REMAINDER = re.compile(
    r"(?:\\text\w*\s?\{\s*remainder[\s:]*\}\s*=?\s*)?([-+]?\d+)(?:[\s,;\\]*\(?\\?(?:text\s?\{\s*)?[pb]?mod\b[\s}{]*(\d+)[\s}]*\)?)?"
)
"""Remainder, perhaps with the word before it or what it is the remainder of behind it."""


def without_modulus(box: str, question: str) -> str:
    """Returns a box without the question's modulus behind its number, or `remainder` before it, if that is asked for."""
    found = _REMAINDER.fullmatch(box) if _ASKED.search(question) else None
    return box if found is None or (found[2] and found[2] not in re.findall(r"\d+", question)) else found[1]
