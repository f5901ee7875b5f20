r"""Reads a box in which one value is spelled twice: `\frac{1}{2} \text{ or } 0.5`."""

from __future__ import annotations

import re

_SPELLING = r"((?:(?!\bor\b).){1,200}?)"
_OPENED = r"\\(?:text|mathrm|mbox)\s?\{\s{0,5}"
_OR = rf"(?:{_OPENED},?\s?or\s{{0,5}}\}}|\bor\s)"
_TWICE = re.compile(
    rf"{_SPELLING}\s*(?:{_OPENED}\(or\s([^{{}}()]{{1,200}})\)\s{{0,5}}\}}"
    rf"|{_OPENED}\(or\s{{0,5}}\}}{_SPELLING}(?:{_OPENED}\)\s{{0,5}}\}}|\))|\({_OR}{_SPELLING}\)|{_OR}{_SPELLING})\s*"
)
"""One `or` between two spellings, the second of which may stand in brackets."""


def two_spellings(box: str) -> tuple[str, str] | None:
    """Returns what stands before the only `or` of a box and behind it; None for a box without one, or with several."""
    found = _TWICE.fullmatch(box.strip())
    if found is None:
        return None
    one, other = (spelling.strip() for spelling in found.groups() if spelling is not None)
    return (one, other) if one and other else None
