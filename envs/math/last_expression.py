r"""Finds the expression with which an answer without a box ends: `The answer is $v_{\text{max}}$.`"""

from __future__ import annotations

import re

_TEXT = r"\\(?:text\w*|math\w*|operatorname|mbox)\s?\{[^{}]*\}"
_BARE = rf"{_TEXT}|(?!{_TEXT})\\[A-Za-z]++|\\[^A-Za-z]|[A-Za-z](?![A-Za-z])|[^A-Za-z\\$:\n]"
_FURTHEST = 300
"""Number of characters at the end of an answer in which its expression is looked for."""
_LAST = re.compile(
    r"(?:\A|[:=]|\b(?:is|are|equals)\b)[\s*]{0,9}"
    r"(?:\$\$?([^$]{1,200})\$\$?|\\\(((?:(?!\\[()]).){1,200})\\\)|\\\[((?:(?!\\[\[\]]).){1,200})\\\]"
    rf"|((?![\s*$:])(?:{_BARE}){{1,80}}?))[\s.*]{{0,9}}\Z",
    re.DOTALL,
)
_COMPOSED = re.compile(
    r"(?:\\(?:sqrt|log|lg|ln|sin|cos|tan)(?![A-Za-z])|\\begin\{|\A[(\[]\s?[-\d.]+\s?,|\d\s?[a-z]\s?[-+]|[a-z]\s?[-+]\s?\d)"
)
_BESIDE = re.compile(r"=|\\approx|\\text|\$")


def is_composed(expression: str) -> bool:
    """Says whether an expression without marks of mathematics around it is more than a number: a root, a logarithm, a vector,
    a sum with a variable. In a text, math-verify would read a number in it.
    """
    return _COMPOSED.search(expression) is not None and _BESIDE.search(expression) is None


def last_expression(said: str) -> str | None:
    """Returns the expression with which an answer ends, if it is all of it or stands behind a colon, an equals sign, `is`,
    `are` or `equals`; None if it ends otherwise. One that no marks of mathematics are around has no words.
    """
    found = _LAST.search(said, max(0, len(said) - _FURTHEST))
    return next(filter(None, found.groups())) if found else None
