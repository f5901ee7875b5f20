"""Tells signs that relate two values, and the one before a value whose left side is missing."""

from __future__ import annotations

import re

EQUALS = re.compile(r"(?<![<>!=:])=(?!=)")
"""Equals sign that is no part of another sign."""
_COMPARES = re.compile(
    r"\s*(?:[<>]=?|[≤≥≠≲≳]|\\not(?![A-Za-z])|\\(?:[lg](?:e|eq|t|l|g|eqq|eqslant|esssim|trsim)|neq?|propto|in)(?![A-Za-z]))"
)
"""Sign before a value that says that something does not equal it."""
_SAME = {
    **{"<": "\\lt", "≤": "\\le", "\\leq": "\\le", "<=": "\\le", "≲": "\\lesssim", "\\l": "\\lt"},
    **{">": "\\gt", "≥": "\\ge", "\\geq": "\\ge", ">=": "\\ge", "≳": "\\gtrsim", "\\g": "\\gt"},
    **{"≠": "\\ne", "\\neq": "\\ne", "\\not": "\\ne"},
}
"""Spellings of one sign."""


def first_relation(expression: str) -> str:
    """Returns the sign with which an expression says that something does not equal it, in one spelling of several; "" if it
    begins with none.
    """
    found = _COMPARES.match(expression)
    sign = found[0].strip() if found else ""
    return _SAME.get(re.sub(r"^\\([lgn]eq?)(?:q|slant)?$", r"\\\1", sign), sign)
