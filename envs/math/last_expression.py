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


def last_expression(said: str) -> str | None:
    """Returns the expression with which an answer ends, if it is all of it or stands behind a colon, an equals sign, `is`,
    `are` or `equals`; None if it ends otherwise. One that no marks of mathematics are around has no words.
    """
    found = _LAST.search(said, max(0, len(said) - _FURTHEST))
    return next(filter(None, found.groups())) if found else None
