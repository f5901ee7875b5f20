"""Tells the base in which a question asks for a number."""

from __future__ import annotations

import re

_NAMES = {
    **{
        "two": "2",
        "three": "3",
        "four": "4",
        "five": "5",
        "six": "6",
        "seven": "7",
        "eight": "8",
        "nine": "9",
        "ten": "10",
    },
    **{"twelve": "12", "sixteen": "16", "binary": "2", "octal": "8", "decimal": "10", "hexadecimal": "16"},
}
_ASKED = re.compile(
    rf"\b(?:base[\s$-]{{1,3}}|in\s)({'|'.join(_NAMES)}|(?<=base.)\d\d?|(?<=base..)\d\d?)\b", re.IGNORECASE
)
_SUBSCRIPT = re.compile(r"(?<=[0-9A-F])_(?:\{\s*(?:\\text\w*\s?\{\s*(\w+)\s*\}|\(?(\w+)\)?)\s*\}|(\w))\s*\Z")
"""Base behind the number with which an answer ends."""


def without_asked_base(answer: str, question: str) -> str:
    """Returns an answer without the base behind its number, if that is the only one that the question names."""
    found = _SUBSCRIPT.search(answer)
    if found is None:
        return answer
    base = next(filter(None, found.groups())).lower()
    asked = {_number(name) for name in _ASKED.findall(question)}
    return answer[: found.start()] if asked == {_number(base)} else answer


def _number(name: str) -> str:
    return _NAMES.get(name.lower(), name)
