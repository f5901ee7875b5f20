r"""Writes an expression with a sign for plus and minus as two: `1 \pm \sqrt2` is `\{1 + \sqrt2, 1 - \sqrt2\}`."""

from __future__ import annotations

import re

_SIGN = re.compile(r"\s{0,9}(?:\\pm(?![A-Za-z])|±)\s{0,9}")
_NAME = re.compile(r"[A-Za-z](?:_(?:\{[\w, ]{1,9}\}|\w))?\s{0,9}=\s{0,9}")
_PLAIN = re.compile(
    r"(?:[\d\s+*/^(){}.!|-]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])"
    r"|\\(?:[dtc]?frac|sqrt|pi|cdot|times|left|right)(?![A-Za-z]))*"
)
"""Expression without units, lists and relations."""


def with_both_signs(expression: str) -> str:
    r"""Returns an expression that has one `\pm` as the set of its two values, without a name before it (`x =`). Units, and
    expressions that are lists already, stay as they are.
    """
    named = _NAME.match(expression)
    before, *behind = _SIGN.split(expression[named.end() :] if named else expression)
    if len(behind) != 1 or not _PLAIN.fullmatch(before) or not _PLAIN.fullmatch(behind[0]):
        return expression
    return f"\\{{{before}{'+' if before else ''}{behind[0]}, {before}-{behind[0]}\\}}"
